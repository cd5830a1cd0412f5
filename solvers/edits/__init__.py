"""What an edit changed, and which derived numbers still hold after it."""
