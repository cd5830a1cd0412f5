"""Standard form to standard form, with solutions carried back."""
