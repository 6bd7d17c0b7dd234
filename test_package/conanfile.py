import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout


class GoodputTestConan(ConanFile):
    """Builds and runs programs with what the options of goodput allow."""

    settings = "os", "arch", "compiler", "build_type"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False  # no CMakeUserPresets.json in the source folder
        options = self.dependencies["goodput"].options
        toolchain.cache_variables["CORE_ONLY"] = int(bool(options.core_only))
        toolchain.cache_variables["WITH_COMPILED"] = int(bool(options.with_compiled))
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if can_run(self):
            options = self.dependencies["goodput"].options
            programs = ["test_core"]
            if not options.core_only:
                programs.append("test_package")
            if options.with_compiled:
                programs.append("test_c")
            for program in programs:
                self.run(os.path.join(self.cpp.build.bindir, program), env="conanrun")
