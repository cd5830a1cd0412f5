"""What every support vector machine shares: hyperplane, hinge losses, multipliers, intercept."""
