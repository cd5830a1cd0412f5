"""Models with exp and log: tangents near a point, and the bound and point that they lead to."""
