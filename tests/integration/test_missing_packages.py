"""A build on a machine that lacks something says what, and what installs it."""

import os
import shutil
import subprocess

import pytest

from conftest import ROOT

INSTALL = "sh tools/install-packages "


@pytest.mark.parametrize("lacking, debian", [(["libsodium"], "libsodium-dev"),
                                             (["libcrypto", "zlib"], "libssl-dev zlib1g-dev"),
                                             (["jansson", "libzstd", "libutf8proc", "cmocka"],
                                              "libjansson-dev libzstd-dev libutf8proc-dev libcmocka-dev")])
def test_libraries(tmp_path, lacking, debian):
    """Every one at once, by pkg-config's name and by Debian's."""
    stand_in = tmp_path / "pkg-config"
    stand_in.write_text(f"#!/bin/sh\ncase \"$*\" in *{'*|*'.join(lacking)}*) exit 1 ;; esac\n"
                        f"exec {shutil.which('pkg-config')} \"$@\"\n")
    stand_in.chmod(0o755)
    done = subprocess.run(["cmake", "-S", ROOT, "-B", tmp_path / "build", "-G", "Ninja"], text=True,
                          capture_output=True, env={**os.environ, "PKG_CONFIG": str(stand_in)})
    said = " ".join(done.stderr.split())
    assert done.returncode != 0
    for module in lacking:
        assert f"the library {module} (pkg-config knows no module {module})" in said
    assert said.count("the library ") == len(lacking)
    assert INSTALL + "test " in said and f"(packages {debian})" in said
    assert "Fedora" in said and "docs/building.md" in said


@pytest.mark.parametrize("lacking, package", [("cmake", "cmake"), ("ninja", "ninja-build"),
                                              ("pkg-config", "pkg-config"), ("cc", "gcc libc6-dev")])
def test_commands(tmp_path, lacking, package):
    """make says so before cmake speaks in its own words."""
    for name in {"sh", "make", "cmake", "ninja", "pkg-config", "cc", "nproc"} - {lacking}:
        (tmp_path / name).symlink_to(shutil.which(name))
    env = {"PATH": str(tmp_path)}
    done = subprocess.run(["make", "-C", ROOT, "commands"], capture_output=True, text=True, env=env)
    assert done.returncode != 0
    assert f" {lacking}" in done.stderr.replace("(cc)", "cc") and f"(packages {package})" in done.stderr
    assert INSTALL + "build\n" in done.stderr
    (tmp_path / lacking).symlink_to(shutil.which(lacking))
    done = subprocess.run(["make", "-C", ROOT, "commands"], capture_output=True, text=True, env=env)
    assert done.returncode == 0 and "missing" not in done.stderr


def test_every_target_asks_first():
    """No target that runs cmake does so before `commands`."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    for target in ("release", "dev", "check", "asan", "ct", "fuzz", "install", "bench"):
        planned = subprocess.run(["make", "-n", "-C", ROOT, target], capture_output=True, text=True,
                                 check=True, env=env).stdout
        assert planned.index("tools/need-commands") < planned.index("cmake --preset"), target


def test_llama(tmp_path):
    """Where llama.cpp was never built, the command that builds it."""
    done = subprocess.run(["cmake", "-S", ROOT, "-B", tmp_path / "build", "-G", "Ninja",
                           "-DCMAKE_DISABLE_FIND_PACKAGE_llama=ON"], text=True, capture_output=True,
                          env={**os.environ, "XDG_CACHE_HOME": str(tmp_path), "FRE_LLAMA_PREFIX": ""})
    assert done.returncode != 0 and "Run tools/bootstrap-llama once" in " ".join(done.stderr.split())
