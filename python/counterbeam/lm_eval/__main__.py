"""lm_eval's own command, which then knows the model "counterbeam"."""
import sys

from lm_eval.__main__ import cli_evaluate  # type: ignore[import-not-found,import-untyped,unused-ignore]

import counterbeam.lm_eval  # noqa: F401  registers the class

sys.argv[0] = "lm_eval"
cli_evaluate()
