"""lit configuration: what tests may call and which features they may require.

Tests call our tools and LLVM's (FileCheck, not, count, split-file) by their plain
names. Substitutions:
  %sluice, %runner, %python, %mpirun, %scripts, %models_build, %host_cc (the C compiler): programs; %models (test/models), %shared, %tools: folders
  %fails COMMAND, %misused COMMAND: it must exit with 1 (an error) or 2 (wrong usage), and with nothing else
  %json EXPRESSION [NAME=]FILE...: a Python expression of JSON documents must be true (check_json.py)
  %fill FILE WORD=EXPRESSION...: the file's text with words replaced by the values of Python expressions (fill.py)
  %tinybert, %jumperhard: a carried model with its dimensions
  %emulate_aarch64, %emulate_riscv64 PROGRAM: under qemu's user-mode emulation; %runner_aarch64, %runner_riscv64: the
    runner of scripts/build --target, so
  %chroot FOLDER PROGRAM: the program of that folder, with the folder as root
  %bare_cc_aarch64, %bare_cc_riscv64: C compilers for programs without a C library
  %generate_example: the application of test/unit/Runtime/GenerateExample.c; %soak: that of test/faults/Soak.c
  %with_fake_cuda, %with_fake_libraries COMMAND: it finds the tests' driver; and their cuBLAS and cuDNN too
Features: run-aarch64, run-riscv64, emulate-aarch64, emulate-riscv64, bare-aarch64, bare-riscv64 (where qemu and that runner, libsluice_standalone.a, or a cross compiler are there), chroot, node, count-instructions, shared, avx512-bf16, onnx-testdata, python-onnx, python-jsonschema, mpi, ptxas, cuda-device, fake-cuda, sanitized.
"""

import os
import shutil
import subprocess

import lit.formats

config.name = "Sluice"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".onnxtxt", ".test"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.build_root, "test")
config.excludes = ["Inputs", "unit", "fuzz", "models", "data", "package", "structure"]

path = [config.tools_dir, config.llvm_tools_dir, config.environment.get("PATH", "")]
config.environment["PATH"] = os.pathsep.join(path)
for variable in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS"):
    if variable in os.environ:
        config.environment[variable] = os.environ[variable]

# A directory beside the checkout with models too large to carry.
shared = os.path.normpath(os.path.join(config.source_root, "..", "shared"))
# A driver for GPUs that needs none, of the runtime's tests.
fake_cuda = os.path.join(config.build_root, "test", "unit", "Cuda")
models = os.path.join(config.test_source_root, "models")
check_exit = os.path.join(config.test_source_root, "check_exit")
onnx_testdata = "/usr/share/libonnx-testdata/data"

config.substitutions += [
    ("%sluice", os.path.join(config.tools_dir, "sluice")),
    ("%models_build", os.path.join(config.source_root, "scripts", "models", "build")),
    ("%mpirun", os.path.join(config.source_root, "scripts", "mpirun")),
    ("%scripts", os.path.join(config.source_root, "scripts")),
    ("%tools", config.tools_dir),
    ("%models", models),
    ("%shared", shared),
    ("%fake_cuda", fake_cuda),
    ("%fake_libraries", os.path.join(fake_cuda, "libraries")),
    ("%generate_example", os.path.join(config.tools_dir, "GenerateExample")),
    ("%soak", os.path.join(config.tools_dir, "RuntimeSoak")),
    ("%runner", os.path.join(config.tools_dir, "sluice-runner")),
    ("%onnx_testdata", onnx_testdata),
    ("%python", config.python),
    ("%host_cc", config.host_cc),
    ("%fails", f"{check_exit} 1"),
    ("%misused", f"{check_exit} 2"),
    ("%json", f"{config.python} {os.path.join(config.test_source_root, 'check_json.py')}"),
    ("%fill", f"{config.python} {os.path.join(config.test_source_root, 'fill.py')}"),
    ("%tinybert", f"{models}/tinybert/model.onnx --dim batch=1 --dim sequence=64"),
    ("%jumperhard", f"{models}/jumperhard/model.onnx --dim batch_size=1"),
    ("%with_fake_cuda", f"env LD_LIBRARY_PATH={fake_cuda}"),
    ("%with_fake_libraries", f"env LD_LIBRARY_PATH={fake_cuda}:{os.path.join(fake_cuda, 'libraries')}"),
]


def has_python(module):
    """Debian's packages of Python modules serve the system's interpreter only."""
    check = f"import importlib.util, sys; sys.exit(importlib.util.find_spec('{module}') is None)"
    return subprocess.run([config.python, "-c", check], check=False).returncode == 0


def has_cpu_flag(name):
    """As Linux spells it."""
    try:
        with open("/proc/cpuinfo", encoding="ascii") as file:
            return any(line.startswith("flags") and name in line.split() for line in file)
    except OSError:
        return False


# Processors whose code an emulator runs; RISC-V with vectors of 128 bits.
emulated = {"aarch64": "max", "riscv64": "rv64,v=true,vlen=128,elen=64,vext_spec=v1.0"}
for architecture, cpu in emulated.items():
    emulator = shutil.which(f"qemu-{architecture}") or shutil.which(f"qemu-{architecture}-static") or "qemu"
    runner = os.path.join(config.source_root, "build", architecture, "bin", "sluice-runner")
    # qemu before version 8 does not report RISC-V's vectors.
    environment = "env SLUICE_CPU_FEATURES=+v " if architecture == "riscv64" else ""
    emulate = f"{environment}{emulator} -cpu {cpu} -L /usr/{architecture}-linux-gnu"
    config.substitutions.insert(0, (f"%emulate_{architecture}", emulate))
    standalone = os.path.join(config.source_root, "build", architecture, "lib", "libsluice_standalone.a")
    if emulator != "qemu" and os.path.exists(standalone):
        config.available_features.add(f"emulate-{architecture}")
    compiler = shutil.which(f"{architecture}-linux-gnu-gcc")
    if emulator != "qemu" and compiler:
        config.available_features.add(f"bare-{architecture}")
        config.substitutions.insert(
            0, (f"%bare_cc_{architecture}", f"{compiler} -O1 -ffreestanding -fno-builtin -nostdlib -static"))
    if emulator != "qemu" and os.path.exists(runner):
        config.available_features.add(f"run-{architecture}")
        config.substitutions.insert(
            0, (f"%runner_{architecture}", f"{emulate} {runner}"))

# As root, or as root of a namespace.
for chroot in (["chroot"], ["unshare", "--map-root-user", "chroot"]):
    if shutil.which(chroot[0]) and not subprocess.run(chroot + ["/", "true"], capture_output=True, check=False).returncode:
        config.available_features.add("chroot")
        config.substitutions.insert(0, ("%chroot", " ".join(chroot)))
        break

if shutil.which("node"):
    config.available_features.add("node")
if shutil.which("qemu-x86_64") and shutil.which("cc"):
    config.available_features.add("count-instructions")
if os.path.isdir(shared):
    config.available_features.add("shared")
if has_cpu_flag("avx512_bf16"):
    config.available_features.add("avx512-bf16")
if os.path.isdir(onnx_testdata):
    config.available_features.add("onnx-testdata")
for module in ("onnx", "jsonschema"):
    if has_python(module):
        config.available_features.add(f"python-{module}")
if shutil.which("ptxas") or os.path.exists("/usr/local/cuda/bin/ptxas"):
    config.available_features.add("ptxas")
if shutil.which("mpirun") and os.path.exists(os.path.join(config.tools_dir, "..", "lib", "libsluice_mpi.so")):
    config.available_features.add("mpi")
if os.path.exists("/dev/nvidia0"):
    config.available_features.add("cuda-device")
if os.path.exists(os.path.join(fake_cuda, "libcuda.so.1")):
    config.available_features.add("fake-cuda")
if config.sanitizers:
    config.available_features.add("sanitized")
