"""Pictures of concavity cuts over any polygon."""
