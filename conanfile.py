"""The Conan 2 package goodput: headers, and the three libraries whose headers these include. core_only=True leaves out
what needs these; with_compiled=True adds two libraries: the usual instantiations, static or shared, and the C interface,
which is shared always.

The targets are those of the CMake package, so that a project's CMakeLists.txt does not say which way goodput came:

    goodput::core      nothing
    goodput::goodput   Eigen, headers of Ceres Solver, headers of Boost; goodput::fit and goodput::place are the same
    goodput::ceres     goodput::goodput, and the library of Ceres Solver
    goodput::compiled  goodput::goodput; with_compiled
    goodput::c         nothing; with_compiled

Conan's find_package() takes any COMPONENTS without a word; a target that the options leave out is missing.
"""

import os
import re

from conan import ConanFile
from conan.errors import ConanException, ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir

required_conan_version = ">=2.0"


class GoodputConan(ConanFile):
    name = "goodput"
    description = "Which job gets how many GPUs of which type, on which nodes, with which batch size"
    license = "MIT"
    topics = ("scheduling", "gpu", "cluster", "optimization", "header-only")
    settings = "os", "arch", "compiler", "build_type"  # without with_compiled only validate() uses them
    options = {"core_only": [True, False], "with_compiled": [True, False], "shared": [True, False], "fPIC": [True, False]}
    default_options = {"core_only": False, "with_compiled": False, "shared": False, "fPIC": True}
    exports_sources = ("include/*.hpp", "LICENSE", "CMakeLists.txt", "cmake/*", "compiled/*", "program/lines.cmake",
                       "program/json/*", "program/plan/*", "program/report/result_file.hpp")
    no_copy_source = True

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, "include", "goodput", "version.hpp"))
        found = re.search(r'string_view version = "([^"]+)"', header)
        if not found:
            raise ConanException('include/goodput/version.hpp has no line: string_view version = "1.2.3"')
        self.version = found.group(1)

    def config_options(self):
        if self.settings.os == "Windows":
            del self.options.fPIC

    def configure(self):
        if not self.options.with_compiled:  # shared and fPIC change nothing without a build
            self.package_type = "header-library"
            self.options.rm_safe("shared")
            self.options.rm_safe("fPIC")
            return
        self.package_type = "library"
        if self.options.shared:
            self.options.rm_safe("fPIC")

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        if self.options.core_only:
            return
        # Ceres' recipe requires one exact version of Eigen. After it, the range below resolves to that version; before
        # it, the range would resolve to the newest one and conflict.
        self.requires("ceres-solver/[>=2.1 <3]", transitive_headers=True, transitive_libs=True)
        self.requires("eigen/[>=3.4 <6]", transitive_headers=True)
        # Boost.Graph's algorithms are headers. Packages that need Boost's libraries override this default.
        self.requires("boost/[>=1.74 <2]", transitive_headers=True, options={"header_only": True})
        if self.options.with_compiled:  # used within the libraries only: code that links them does not need it
            self.requires("nlohmann_json/[>=3.10 <4]", visible=False)

    def package_id(self):
        if not self.info.options.with_compiled:
            self.info.clear()  # the same headers, whatever the options and settings

    def validate(self):
        try:
            check_min_cppstd(self, 20)
        except ConanInvalidConfiguration as reason:
            raise ConanInvalidConfiguration(f"goodput is C++20, try -s compiler.cppstd=20: {reason}") from None
        if self.options.core_only and self.options.with_compiled:
            raise ConanInvalidConfiguration("with_compiled needs all of goodput, which core_only leaves out")

    def generate(self):
        if not self.options.with_compiled:
            return
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False
        for part in ("TESTS", "EXAMPLES", "BENCHMARKS"):
            toolchain.cache_variables[f"GOODPUT_BUILD_{part}"] = False
        toolchain.cache_variables["GOODPUT_BUILD_COMPILED"] = True
        toolchain.cache_variables["GOODPUT_PYTHON"] = False
        toolchain.cache_variables["GOODPUT_WITH_CERES"] = False  # its header is copied like the others
        for folder in self._folders_of_ceres():
            toolchain.cache_variables["CeresHeaders_INCLUDE_DIR"] = folder
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        if self.options.with_compiled:
            cmake = CMake(self)
            cmake.configure()
            cmake.build()

    def package(self):
        # Leave out the CMake package of install(): next to Conan's it would be a second set of the same targets. The
        # tests run in the repository's own build; conan create only runs test_package.
        if self.options.with_compiled:
            CMake(self).install()
            rmdir(self, os.path.join(self.package_folder, "share"))
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        copy(self, "*.hpp", os.path.join(self.source_folder, "include"), os.path.join(self.package_folder, "include"))

    def package_info(self):
        # Conan adds a target that contains all components, including libceres. It must not be called goodput::goodput,
        # because the component of that name would then contain libceres.
        self.cpp_info.set_property("cmake_file_name", "goodput")
        self.cpp_info.set_property("cmake_target_name", "goodput::all_components")
        self._component("core")
        if self.options.core_only:
            return
        # Only a few headers of Ceres are needed, not its library. A component would depend on a whole component of
        # another package, so add only the folder.
        self._component("goodput", "core", "eigen::eigen", "boost::headers").includedirs += self._folders_of_ceres()
        self._component("fit", "goodput")
        self._component("place", "goodput")
        self._component("ceres", "goodput", "ceres-solver::ceres")
        if self.options.with_compiled:
            self._component("compiled", "goodput", library="goodput_compiled").defines = ["GOODPUT_COMPILED"]
            self._component("c", library="goodput_c")

    def _folders_of_ceres(self):
        """The folder of ceres/tiny_solver.h, or none where compilers find it themselves. Beside it there may be one with
        a small glog, which nobody else should get."""
        folders = self.dependencies["ceres-solver"].cpp_info.aggregated_components().includedirs
        return [folder for folder in folders if os.path.exists(os.path.join(folder, "ceres", "tiny_solver.h"))]

    def _component(self, name, *requires, library=None):
        component = self.cpp_info.components[name]
        component.requires = list(requires)
        if library:
            component.libs = [library]
        else:
            component.bindirs = component.libdirs = []
        component.set_property("cmake_target_name", f"goodput::{name}")
        if name == "goodput":  # the others are called goodput-core and so on by default
            component.set_property("pkg_config_name", "goodput")
        return component
