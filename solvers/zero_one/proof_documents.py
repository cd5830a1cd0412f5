"""Proof files of 0-1 models by the search over kept points, beside those by cones."""

from __future__ import annotations

from tightmargin.solvers.proof_files.result_proof import register_document
from tightmargin.solvers.proofs.packings.cover import WORDS as CONFLICTS
from tightmargin.solvers.zero_one.file_parts import ZERO_ONE
from tightmargin.solvers.zero_one.packings.document import packing_document, suits_a_file

register_document(ZERO_ONE, packing_document, when=suits_a_file, proves=CONFLICTS)
