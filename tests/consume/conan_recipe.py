"""usage: conan_recipe.py CONANFILE SCRATCH

Tests the Conan recipe where Conan is not installed: calls its functions with stand-ins of Conan's classes, once for
each set of options. It shows which packages are required in which order, and what each component provides, not that
Conan accepts the recipe.
"""
import importlib.util
import os
import sys
import types


class Component:
    def __init__(self):
        self.requires, self.libs, self.includedirs, self.properties = [], [], ["include"], {}

    def set_property(self, name, value):
        self.properties[name] = value


class Components(dict):
    def __missing__(self, name):
        self[name] = Component()
        return self[name]


class Options(types.SimpleNamespace):
    def rm_safe(self, name):
        self.__dict__.pop(name, None)


class InvalidConfiguration(Exception):
    pass


def put_stand_ins():
    modules = {"conan": ["ConanFile"], "conan.errors": ["ConanException"], "conan.tools": [],
               "conan.tools.build": ["check_min_cppstd"], "conan.tools.cmake": ["CMake", "CMakeDeps", "CMakeToolchain", "cmake_layout"],
               "conan.tools.files": ["copy", "load", "rmdir"]}
    for name, members in modules.items():
        sys.modules[name] = types.ModuleType(name)
        for member in members:
            setattr(sys.modules[name], member, type(member, (), {}))
    sys.modules["conan.errors"].ConanInvalidConfiguration = InvalidConfiguration
    sys.modules["conan.tools.cmake"].cmake_layout = lambda recipe: setattr(recipe, "has_layout", True)
    sys.modules["conan.tools.build"].check_min_cppstd = lambda recipe, standard: None


def made(recipe_class, folders_of_ceres, system="Linux", **options):
    """Returns a recipe after all functions that choose and name, without those that build."""
    recipe = recipe_class()
    recipe.settings = types.SimpleNamespace(os=system)
    recipe.options = Options(**{**recipe.default_options, **options})
    assert all(value in recipe_class.options[name] for name, value in vars(recipe.options).items())
    recipe.config_options()
    recipe.configure()
    recipe.layout()
    assert recipe.has_layout
    recipe.required = []
    recipe.requires = lambda reference, **traits: recipe.required.append((reference, traits))
    ceres = types.SimpleNamespace(aggregated_components=lambda: types.SimpleNamespace(includedirs=folders_of_ceres))
    recipe.dependencies = {"ceres-solver": types.SimpleNamespace(cpp_info=ceres)}
    recipe.cpp_info = Component()
    recipe.cpp_info.components = Components()
    recipe.requirements()
    recipe.validate()
    recipe.package_info()
    return recipe


def reached(recipe, name):
    """Returns everything that a component requires, directly or indirectly."""
    found = set()
    for other in recipe.cpp_info.components[name].requires:
        found |= {other} | (set() if "::" in other else reached(recipe, other))
    return found


def main():
    conanfile, scratch = sys.argv[1:]
    put_stand_ins()
    spec = importlib.util.spec_from_file_location("conanfile", conanfile)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    recipe_class = module.GoodputConan

    with_headers, with_glog = os.path.join(scratch, "ceres"), os.path.join(scratch, "small_glog")
    os.makedirs(os.path.join(with_headers, "ceres"), exist_ok=True)
    os.makedirs(with_glog, exist_ok=True)
    with open(os.path.join(with_headers, "ceres", "tiny_solver.h"), "w", encoding="utf-8"):
        pass

    whole = made(recipe_class, [with_headers, with_glog])
    assert [reference.split("/")[0] for reference, _ in whole.required] == ["ceres-solver", "eigen", "boost"], whole.required
    assert whole.required[2][1]["options"] == {"header_only": True}
    assert all(traits["transitive_headers"] for _, traits in whole.required)
    components = whole.cpp_info.components
    assert set(components) == {"core", "goodput", "fit", "place", "ceres"}, components
    for name, component in components.items():
        assert component.properties["cmake_target_name"] == f"goodput::{name}"
        assert not component.libs
    assert not reached(whole, "core")
    for name in ("goodput", "fit", "place"):
        libraries = {other for other in reached(whole, name) if "::" in other}
        assert libraries == {"eigen::eigen", "boost::headers"}, (name, libraries)
    assert "ceres-solver::ceres" in reached(whole, "ceres")
    assert components["core"].includedirs == ["include"]
    assert components["goodput"].includedirs == ["include", with_headers]
    assert whole.cpp_info.properties["cmake_target_name"] not in {f"goodput::{name}" for name in components}

    system = made(recipe_class, [])  # here compilers find Ceres themselves
    assert system.cpp_info.components["goodput"].includedirs == ["include"]

    core = made(recipe_class, [], core_only=True)
    assert not core.required and set(core.cpp_info.components) == {"core"}

    # Options without effect are removed; if a library is built, they select which.
    assert whole.package_type == core.package_type == "header-library"
    assert not hasattr(whole.options, "shared") and not hasattr(whole.options, "fPIC")
    static = made(recipe_class, [], with_compiled=True)
    assert static.package_type == "library" and not static.options.shared and static.options.fPIC
    assert not hasattr(made(recipe_class, [], with_compiled=True, shared=True).options, "fPIC")
    assert not hasattr(made(recipe_class, [], system="Windows", with_compiled=True).options, "fPIC")

    compiled = static.cpp_info.components
    assert set(compiled) == set(components) | {"compiled", "c"}
    assert compiled["compiled"].libs == ["goodput_compiled"] and compiled["compiled"].requires == ["goodput"]
    assert compiled["c"].libs == ["goodput_c"] and not compiled["c"].requires
    try:
        made(recipe_class, [], core_only=True, with_compiled=True)
    except InvalidConfiguration:
        return
    raise AssertionError("core_only and with_compiled exclude each other")


main()
