"""Builds a wheel that contains the shared library, and that machines of the same kind can install without a compiler:

    python3 -m pip wheel --no-build-isolation --no-index --no-deps --wheel-dir build/python ./python

GOODPUT_LIBRARY names a libgoodput_c that is already built. Without it, CMake builds one, which needs the same as the
library's headers (docs/install.md). Nothing is downloaded.
"""

import glob
import os
import re
import shutil
import subprocess

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before setuptools 70.1
    from wheel.bdist_wheel import bdist_wheel

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, "build", "wheel")  # nothing is written next to the sources


def built_library(folder):
    """Returns the library that CMake builds in a folder."""
    switches = [f"-DGOODPUT_BUILD_{part}=OFF" for part in ("TESTS", "EXAMPLES", "BENCHMARKS")]
    subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-DCMAKE_BUILD_TYPE=Release", "-DGOODPUT_BUILD_COMPILED=ON",
                    *switches], check=True)
    subprocess.run(["cmake", "--build", folder, "--target", "goodput_c", "--config", "Release"], check=True)
    return next(path for path in glob.glob(os.path.join(folder, "compiled", "c", "**", "*goodput_c*"), recursive=True)
                if re.search(r"(goodput_c\.so\.\d+|goodput_c\.\d+\.dylib|goodput_c\.dll)$", path))


class BuildWithLibrary(build_py):
    """Copies the library next to the modules, under the name that the package looks for, with the files that belong to
    it."""

    def run(self):
        shutil.rmtree(self.build_lib, ignore_errors=True)  # remains of an earlier build
        super().run()
        library = os.path.realpath(os.environ.get("GOODPUT_LIBRARY") or built_library(os.path.join(BUILD, "library")))
        package = os.path.join(self.build_lib, "goodput")
        shutil.copy(library, os.path.join(package, re.sub(r"(\.so\.\d+).*", r"\1", os.path.basename(library))))
        for path in (("compiled", "c", "include", "goodput", "goodput.h"), ("docs", "goodput.schema.json"),
                     ("python", "goodput", "py.typed"), ("LICENSE",)):
            shutil.copy(os.path.join(ROOT, *path), package)


class WheelOfThisMachine(bdist_wheel):
    """A wheel for any Python 3."""

    def get_tag(self):
        return ("py3", "none", super().get_tag()[2])


class WithLibrary(Distribution):
    """A package that is not Python alone."""

    def has_ext_modules(self):
        return True


os.makedirs(BUILD, exist_ok=True)
with open(os.path.join(ROOT, "include", "goodput", "version.hpp"), encoding="utf-8") as header:
    version = re.search(r'string_view version = "([^"]+)"', header.read())[1]
setup(version=version, distclass=WithLibrary, cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": WheelOfThisMachine},
      options={"egg_info": {"egg_base": BUILD}, "build": {"build_base": BUILD}})
