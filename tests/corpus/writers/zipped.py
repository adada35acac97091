"""A ZIP whose bytes do not depend on the time at which it was written."""

import io
import zipfile

_EPOCH = (1980, 1, 1, 0, 0, 0)


def repack(data: bytes, *, compress: bool = True) -> bytes:
    """The same members in the same order, each dated 1980-01-01."""
    out = io.BytesIO()
    method = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            new.writestr(zipfile.ZipInfo(name, _EPOCH), old.read(name), method)
    return out.getvalue()
