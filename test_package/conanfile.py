import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout


class GoodputTestConan(ConanFile):
    """Builds and runs a program with what the options of goodput allow."""

    settings = "os", "arch", "compiler", "build_type"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False  # no CMakeUserPresets.json in the source folder
        options = self.dependencies["goodput"].options
        toolchain.cache_variables["WITH_CERES"] = int(bool(options.with_ceres))
        toolchain.cache_variables["WITH_COMPILED"] = int(bool(options.with_compiled))
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if can_run(self):
            self.run(os.path.join(self.cpp.build.bindir, "test_package"), env="conanrun")
            if self.dependencies["goodput"].options.with_compiled:
                self.run(os.path.join(self.cpp.build.bindir, "test_c"), env="conanrun")
