"""Takeda & Sugiyama 2008, nu-SVM as Conditional Value-at-Risk Minimization: figures and bounds."""
