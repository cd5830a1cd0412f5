"""What solves a model and asks for rows on the way."""
