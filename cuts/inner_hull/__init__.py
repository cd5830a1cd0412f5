"""Global search by the facets of an inner hull."""
