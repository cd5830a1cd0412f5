"""What tests need from inside the rooms. Where a name stands is written here alone."""
