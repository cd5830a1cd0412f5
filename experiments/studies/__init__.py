"""One function over many tasks: runner, pools, store, frames."""
