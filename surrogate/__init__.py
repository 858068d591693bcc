"""Turn an expensive simulation into a fast surrogate that has earned its trust.

Importing this package is cheap: no TensorFlow, Parsl, matplotlib or pandas is loaded by it.
"""

__version__ = "0.1.0"
