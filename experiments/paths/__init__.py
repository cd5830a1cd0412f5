"""What the path command needs of each family: settings, solve, document."""
