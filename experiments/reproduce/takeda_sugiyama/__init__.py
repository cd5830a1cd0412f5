"""Takeda & Sugiyama 2008, nu-Support Vector Machine as CVaR Minimization: its figures and bounds."""
