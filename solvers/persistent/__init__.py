"""Parts of the live linear program of tightmargin.solvers.persistent.live_lp."""
