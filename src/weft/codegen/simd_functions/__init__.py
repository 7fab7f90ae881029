"""Functions for several lanes: one for each signature, beside the function for one lane."""
