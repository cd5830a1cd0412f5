"""What derives a cut (concavity, lifted concavity, facial), and what derives it again."""
