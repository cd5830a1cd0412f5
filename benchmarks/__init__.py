"""Speed and memory as ratios, measured side by side in one run on one thread.

make bench                                     everything; rewrites RESULTS.md and the guide
python -m benchmarks.nu_lp [n] [d] [repeats]   one of them, printed only
"""

import os

# Read by numpy when it is first imported: idle BLAS threads burn CPU seconds while they wait.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"
