"""`python tests/apiserver [SCRIPT.json] [--port N]`: the model API server by hand; see lumen_apiserver."""

import sys

from lumen_apiserver.program import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
