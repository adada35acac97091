"""Types of the arguments of kernels, for the type checker. A vector is Any: as plain Python it is an array."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
I16 = NDArray[np.int16]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
I8 = NDArray[np.int8]
Lanes = Any
Float = Any  # a float32 value
Integer = Any  # of Python or of numpy
