"""Mutated model files: what does reading them do?

    python -m benchmarks.fuzz --mutants 10000

Every mutant is read, and asked for predictions if it can be read, in a process of its own that is watched: a crash, a
hang or a read beyond the end of an array (kernels are compiled with bounds checks) is counted, not suffered. Mutants
are made from the files of many kinds of models; most get new digests, so that what is checked is what they say.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

MUTANT_SECONDS = 30.0
"""A mutant that takes longer hangs; the first of a process may load or compile kernels."""

FIRST_SECONDS = 600.0
MEMORY = 12 << 30

OUTCOMES = ("rejected", "predictions", "raises", "unclear", "out of bounds", "crash", "hang")
"""Refused with a ModelFileError; read and predicts; predicts with an error; another error than ModelFileError, ..."""


# --- models to mutate -------------------------------------------------------------------------------------------------


class Kind(NamedTuple):
    """A model to make mutants of."""

    name: str
    cls: str
    params: dict[str, Any]
    table: Literal["frame", "numbers"]
    target: Literal["numbers", "classes", "two classes", "many classes"]
    only: bool = False  # saved for prediction only
    form: Literal["", "compressed", "compact", "compact, compressed"] = ""

    def data(self) -> tuple[Any, NDArray[Any]]:
        """The rows and targets that it is fitted on."""
        frame, y = make_table()
        cuts = {"classes": [0.0, 1.5], "two classes": [0.5], "many classes": np.linspace(-1.0, 2.5, 11)}
        target = y if self.target == "numbers" else np.digitize(y, cuts[self.target])
        return (frame if self.table == "frame" else frame[["size", "age"]].to_numpy()), target

    def fit(self) -> Any:
        import committee

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return getattr(committee, self.cls)(**self.params).fit(*self.data())


def make_table(n: int = 150) -> tuple[Any, NDArray[np.float64]]:
    """A frame with a category and two columns of numbers, and a target."""
    import pandas as pd

    rng = np.random.default_rng(0)
    town = rng.choice(["Bonn", "Ulm", "Kiel", "Jena"], n)
    frame = pd.DataFrame({"town": pd.Categorical(town), "size": rng.normal(size=n), "age": rng.normal(size=n)})
    return frame, 2.0 * (town == "Ulm") + frame["size"].to_numpy() + 0.2 * rng.normal(size=n)


FEW = {"n_estimators": 4, "random_state": 0}
ROUNDS = {**FEW, "learning_rate": 0.3, "max_leaf_nodes": 6, "min_samples_leaf": 5}
SHORT = {"n_restarts": 1, "max_iter": 10, "random_state": 0}

KINDS = (
    Kind("tree with categories", "DecisionTreeClassifier", {"max_depth": 4}, "frame", "classes"),
    Kind("forest", "RandomForestClassifier", FEW, "numbers", "classes"),
    Kind("forest of many classes", "RandomForestClassifier", FEW, "numbers", "many classes"),
    Kind("forest with categories", "RandomForestRegressor", FEW, "frame", "numbers"),
    Kind("forest, prediction only", "RandomForestRegressor", FEW, "frame", "numbers", True),
    Kind("AdaBoost", "AdaBoostClassifier", FEW, "numbers", "two classes"),
    Kind("AdaBoost, prediction only", "AdaBoostClassifier", FEW, "numbers", "classes", True),
    Kind("AdaBoost.R2", "AdaBoostRegressor", FEW, "numbers", "numbers"),
    Kind("gradient boosting", "GradientBoostingClassifier", ROUNDS, "numbers", "classes"),
    Kind("gradient boosting with categories", "GradientBoostingRegressor", ROUNDS, "frame", "numbers"),
    Kind("gradient boosting, prediction only", "GradientBoostingRegressor", ROUNDS, "frame", "numbers", True),
    Kind("bagging", "BaggingClassifier", {**FEW, "max_features": 0.7}, "frame", "classes"),
    Kind("SVC", "SVC", {"kernel": "laplacian"}, "numbers", "classes"),
    Kind("SVR", "SVR", {}, "numbers", "numbers"),
    Kind("LinearSVC", "LinearSVC", {}, "numbers", "classes"),
    Kind("NystroemSVC", "NystroemSVC", {}, "numbers", "two classes"),
    Kind("mixture of experts", "MixtureOfExpertsClassifier", SHORT, "numbers", "classes"),
    Kind("density", "MixtureOfExpertsDensity", SHORT, "numbers", "numbers"),
    Kind("hierarchical mixture", "HierarchicalMixtureOfExpertsRegressor", SHORT, "numbers", "numbers"),
    Kind("sparsely gated mixture", "SparselyGatedMixtureRegressor",
         {"n_experts": 4, "hidden_units": 4, "max_iter": 5, "random_state": 0}, "numbers", "numbers"),
    Kind("forest with categories, compact", "RandomForestRegressor", FEW, "frame", "numbers", False,
         "compact, compressed"),
    Kind("bagging, compact", "BaggingClassifier", {**FEW, "max_features": 0.7}, "frame", "classes", False,
         "compact, compressed"),
    Kind("bagging, compact, not compressed", "BaggingRegressor", FEW, "numbers", "numbers", False, "compact"),
    Kind("forest of many classes, compressed", "RandomForestClassifier", FEW, "numbers", "many classes", False,
         "compressed"),
    Kind("gradient boosting, compressed", "GradientBoostingClassifier", ROUNDS, "numbers", "classes", False,
         "compressed"),
    Kind("online boosting", "OnlineBoostingClassifier", {"random_state": 0}, "numbers", "classes"),
)  # fmt: skip


def write_models(directory: Path) -> None:
    """The files 0.committee, 1.committee, ... of all kinds."""
    from committee.storage import save_model

    for i, kind in enumerate(KINDS):
        save_model(
            kind.fit(),
            directory / f"{i}.committee",
            prediction_only=kind.only,
            compact="compact" in kind.form,
            compress="compressed" in kind.form,
        )


# --- files in pieces --------------------------------------------------------------------------------------------------


class Pieces(NamedTuple):
    """A model file taken apart."""

    texts: dict[str, str]
    arrays: dict[str, tuple[str, list[int], bytes]]  # dtype, shape, bytes

    @classmethod
    def of(cls, data: bytes) -> Pieces:
        length = int.from_bytes(data[:8], "little")
        listed = json.loads(data[8 : 8 + length])
        texts, rest = listed.pop("__metadata__"), data[8 + length :]
        pieces = cls(texts, {name: _piece(entry, rest) for name, entry in listed.items()})
        return pieces.restored() if "compression" in texts else pieces

    def restored(self) -> Pieces:
        """Of a compressed file, the arrays and the state that it holds."""
        from committee.storage._compression import restore
        from committee.storage._container import NAMES

        stored = {name: np.frombuffer(content, np.uint8) for name, (_, _, content) in self.arrays.items()}
        result = restore(stored, self.texts["compression"])
        arrays = {
            name: (NAMES[array.dtype], list(array.shape), array.tobytes()) for name, array in result.tensors.items()
        }
        return Pieces({**self.texts, "state": result.state}, arrays)

    def compressed(self) -> Pieces:
        """Compressed again; as it is if an array has not the bytes of its shape any more."""
        from committee.storage._compression import compress
        from committee.storage._container import DTYPES

        texts = {name: text for name, text in self.texts.items() if name != "compression"}
        try:
            tensors = {
                name: np.frombuffer(content, DTYPES[dtype]).reshape(shape)
                for name, (dtype, shape, content) in self.arrays.items()
            }
        except ValueError:
            return Pieces(texts, self.arrays)
        packed = compress(tensors, self.texts["state"])
        assert packed is not None
        arrays = {name: ("U8", list(array.shape), array.tobytes()) for name, array in packed.tensors.items()}
        return Pieces({**texts, "state": "", "compression": packed.text}, arrays)

    def join(self) -> bytes:
        """A file with digests that are right again, compressed if it was."""
        is_restored = "compression" in self.texts and "compressed.data" not in self.arrays
        return (self.compressed() if is_restored else self).stored()

    def stored(self) -> bytes:
        """These arrays in a file."""
        from committee.storage._container import Tensor, header_digest

        directory: dict[str, Any] = {}
        begin, data = 0, b""
        for name, (dtype, shape, content) in self.arrays.items():
            directory[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, begin + len(content)]}
            begin, data = begin + len(content), data + content
        texts = {**self.texts, "data_sha256": _sha(data)}
        tensors = {
            name: Tensor(each["dtype"], each["shape"], *each["data_offsets"]) for name, each in directory.items()
        }
        texts["header_sha256"] = header_digest(texts, tensors)
        head = json.dumps({"__metadata__": texts, **directory}).encode()
        head += b" " * (-len(head) % 64)
        return len(head).to_bytes(8, "little") + head + data


def _piece(entry: dict[str, Any], data: bytes) -> tuple[str, list[int], bytes]:
    begin, end = entry["data_offsets"]
    return entry["dtype"], entry["shape"], data[begin:end]


def _sha(data: bytes) -> str:
    import hashlib

    return hashlib.sha256(data).hexdigest()


# --- mutations --------------------------------------------------------------------------------------------------------


def flip_bits(data: bytes, rng: Generator) -> bytes:
    """Some bits anywhere; digests stay as they are."""
    mutant = bytearray(data)
    for place in rng.integers(0, len(data), rng.integers(1, 9)):
        mutant[place] ^= 1 << int(rng.integers(8))
    return bytes(mutant)


def cut(data: bytes, rng: Generator) -> bytes:
    """Truncated, or with a stretch removed, doubled or blanked."""
    a, b = sorted(int(place) for place in rng.integers(0, len(data), 2))
    return (data[:a], data[:a] + data[b:], data[:b] + data[a:], data[:a] + bytes(b - a) + data[b:])[rng.integers(4)]


def change_numbers(data: bytes, rng: Generator) -> bytes:
    """Numbers of some arrays become extreme or random ones."""
    pieces = Pieces.of(data)
    for name in _some(list(pieces.arrays), rng):
        dtype, shape, content = pieces.arrays[name]
        array = np.frombuffer(content, _numpy(dtype)).copy()
        if array.size:
            places = rng.integers(0, array.size, rng.integers(1, 4))
            array[places] = _extreme(array, rng)
            pieces.arrays[name] = dtype, shape, array.tobytes()
    return pieces.join()


def _some(names: list[str], rng: Generator) -> list[str]:
    return [names[i] for i in rng.integers(0, len(names), rng.integers(1, 4))]


def _numpy(dtype: str) -> np.dtype[Any]:
    from committee.storage._container import DTYPES

    return np.dtype(DTYPES[dtype] if dtype != "BOOL" else "u1")


def _extreme(array: NDArray[Any], rng: Generator) -> Any:
    if array.dtype.kind == "f":
        return rng.choice([np.nan, np.inf, -np.inf, 0.0, -1.0, 1e308, 5e-324, rng.normal()])
    limits = np.iinfo(array.dtype)
    near = int(array[rng.integers(array.size)]) + int(rng.integers(-3, 4))
    options = [limits.max, limits.min, 0, 1, min(max(near, limits.min), limits.max), array.size % (int(limits.max) + 1)]
    return np.array(options[rng.integers(len(options))]).astype(array.dtype)


def change_shapes(data: bytes, rng: Generator) -> bytes:
    """Arrays get another dtype or shape, lose a row, or change places; the directory agrees with itself."""
    pieces = Pieces.of(data)
    for name in _some(list(pieces.arrays), rng):
        dtype, shape, content = pieces.arrays[name]
        choice = rng.integers(5)
        if choice == 0:
            same_size = [other for other in ("F64", "I64", "U64") if dtype in ("F64", "I64", "U64")] or [dtype]
            pieces.arrays[name] = str(rng.choice(same_size)), shape, content
        elif choice == 1:
            pieces.arrays[name] = dtype, [*shape[::-1]], content
        elif choice == 2 and shape and shape[0]:
            pieces.arrays[name] = (
                dtype,
                [shape[0] - 1, *shape[1:]],
                content[: len(content) // shape[0] * (shape[0] - 1)],
            )
        elif choice == 3:
            other = str(rng.choice(list(pieces.arrays)))
            pieces.arrays[name], pieces.arrays[other] = pieces.arrays[other], pieces.arrays[name]
        else:
            pieces.arrays[name] = (
                dtype,
                [int(rng.choice([0, 1, 2**40, 7])), *shape],
                b"" if rng.random() < 0.5 else content,
            )
    return pieces.join()


def change_state(data: bytes, rng: Generator) -> bytes:
    """Values of the description of the model, or of its summary, are replaced, removed, doubled or exchanged."""
    pieces = Pieces.of(data)
    key = "state" if rng.random() < 0.9 else "summary"
    state = json.loads(pieces.texts[key])
    for _ in range(rng.integers(1, 4)):
        holder, place = _somewhere(state, rng)
        if isinstance(holder, list) and rng.random() < 0.3:
            holder.pop(place) if rng.random() < 0.5 else holder.insert(place, holder[place])
        elif isinstance(holder, list | dict):
            holder[place] = _other(holder[place], state, rng)
    pieces.texts[key] = json.dumps(state)
    return pieces.join()


def _somewhere(state: Any, rng: Generator) -> tuple[Any, Any]:
    """A random place: the container and the index or key in it."""
    holder, place = state, None
    while True:
        inside = holder if place is None else holder[place]
        is_open = isinstance(inside, list | dict) and len(inside) > 0
        if not is_open or (place is not None and rng.random() < 0.1):
            return holder, place
        holder = inside
        place = int(rng.integers(len(inside))) if isinstance(inside, list) else str(rng.choice(list(inside)))


def _other(value: Any, state: Any, rng: Generator) -> Any:
    numbers = [0, 1, -1, 2**31, 2**63, -(2**63), 10**12, 1e300, -0.5, 3, 255, 256, 10**40]
    texts = ["", "os.system", "C", "F", "list", "array", "committee.records.tree.Tree", "<U9", "\x00", "predict"]
    others = [None, True, False, [], {}, {"ref": 0}, {"ref": int(rng.integers(60))}, {"float": "7ff8000000000000"}]
    if isinstance(value, int) and not isinstance(value, bool) and rng.random() < 0.5:
        return value + int(rng.integers(-3, 4))
    if isinstance(value, dict) and "ref" in value and isinstance(value["ref"], int) and rng.random() < 0.7:
        return {"ref": max(0, value["ref"] + int(rng.integers(-5, 3)))}
    pool: list[Any] = [*numbers, *texts, *others]
    return pool[rng.integers(len(pool))]


def change_text(data: bytes, rng: Generator) -> bytes:
    """Letters of the description are replaced; the digests are right again."""
    pieces = Pieces.of(data)
    text = list(pieces.texts["state"])
    for place in rng.integers(0, len(text), rng.integers(1, 6)):
        text[place] = str(rng.choice(list('0123456789[]{}",:-.eEanulfr\\ ')))
    pieces.texts["state"] = "".join(text)
    return pieces.join()


def change_compression(data: bytes, rng: Generator) -> bytes:
    """The directory, the sizes or the data of a compressed file; the shapes of any other."""
    import zlib

    length = int.from_bytes(data[:8], "little")
    listed = json.loads(data[8 : 8 + length])
    texts = listed.pop("__metadata__")
    if "compression" not in texts:
        return change_shapes(data, rng)
    pieces = Pieces(texts, {name: _piece(entry, data[8 + length :]) for name, entry in listed.items()})
    sizes, choice = json.loads(texts["compression"]), rng.integers(4)
    if choice == 0:
        name = str(rng.choice(list(sizes)))
        sizes[name] = _other(sizes[name], sizes, rng)
    elif choice == 1:
        content = bytearray(pieces.arrays["compressed.data"][2])
        for place in rng.integers(0, len(content), rng.integers(1, 4)):
            content[place] = int(rng.integers(256))
        pieces.arrays["compressed.data"] = ("U8", [len(content)], bytes(content))
    else:
        inside = json.loads(zlib.decompress(pieces.arrays["compressed.directory"][2]))
        holder, place = _somewhere(inside["groups"], rng)
        if place is not None:
            holder[place] = _other(holder[place], inside, rng)
        text = json.dumps(inside).encode()
        sizes["n_directory_bytes"] = len(text)
        small = zlib.compress(text)
        pieces.arrays["compressed.directory"] = ("U8", [len(small)], small)
    pieces.texts["compression"] = json.dumps(sizes)
    return pieces.stored()


MUTATIONS: tuple[Callable[[bytes, Generator], bytes], ...] = (
    flip_bits, cut, change_numbers, change_numbers, change_shapes, change_state, change_state, change_text,
    change_compression,
)  # fmt: skip


def mutant(data: bytes, seed: int) -> tuple[str, bytes]:
    """The name of the mutation and the mutated file."""
    rng = np.random.default_rng(seed)
    mutate = MUTATIONS[seed % len(MUTATIONS)]
    return mutate.__name__, mutate(data, rng)


# --- one mutant -------------------------------------------------------------------------------------------------------


def examine(path: Path, kind: Kind, is_mapped: bool = False, asks_more: bool = True) -> tuple[str, str]:
    """What became of a file: the outcome, and the error if there was one."""
    from committee.storage import ModelFileError, load_model

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            model = load_model(path, mmap=is_mapped)
        except ModelFileError as error:
            return "rejected", str(error)[:200]
        except Exception as error:
            return "unclear", f"{error!r:.200}"
        X, y = kind.data()
        try:
            ask(model, X[:70])
        except Exception as error:
            return ("out of bounds" if is_outside(error) else "raises"), f"{error!r:.200}"
        return ask_more(model, X, y) if asks_more else ("predictions", "")


def ask(model: Any, rows: Any) -> None:
    """For all methods of a model that take rows."""
    from committee.storage import PredictionOnlyError

    for name in ("predict", "predict_proba", "decision_function", "apply", "staged_predict", "score_samples"):
        if hasattr(model, name):
            with contextlib.suppress(PredictionOnlyError):
                predicted = getattr(model, name)(rows)
                list(predicted) if name.startswith("staged") else np.asarray(predicted)


def ask_more(model: Any, X: Any, y: Any) -> tuple[str, str]:
    """Explain it and learn on from it: a changed model may raise what it likes here, but not leave its arrays."""
    from committee import shap_values

    def learn_on() -> None:
        if hasattr(model, "partial_fit"):
            model.partial_fit(X, y)
        elif "warm_start" in model.get_params() and isinstance(model.n_estimators, int) and model.n_estimators < 50:
            model.set_params(warm_start=True, n_estimators=model.n_estimators + 1).fit(X, y)

    for act in (lambda: model.feature_importances_, lambda: shap_values(model, X[:5]), learn_on):
        try:
            act()
        except Exception as error:
            if is_outside(error):
                return "out of bounds", f"{error!r:.200}"
    return "predictions", ""


def is_outside(error: Exception) -> bool:
    """Is it a kernel compiled with bounds checks that complains? NumPy names the axis."""
    return isinstance(error, IndexError) and "out of bounds" in str(error) and "axis" not in str(error)


# --- many mutants -----------------------------------------------------------------------------------------------------


def work(directory: Path, first: int, last: int) -> None:
    """Examine mutants first:last and print a line for each, before and after."""
    _limit_memory()
    files = [(directory / f"{i}.committee").read_bytes() for i in range(len(KINDS))]
    for i, kind in enumerate(KINDS):
        assert examine(directory / f"{i}.committee", kind) == ("predictions", ""), kind.name
    path = directory / "mutant.committee"
    for seed in range(first, last):
        i = seed // len(MUTATIONS) % len(KINDS)
        name, data = mutant(files[i], seed)
        path.unlink(missing_ok=True)  # an older mutant may still be mapped
        path.write_bytes(data)
        print(json.dumps(["begin", seed, i, name]), flush=True)
        outcome = ("same", "") if data == files[i] else examine(path, KINDS[i], seed % 3 == 0)
        print(json.dumps(["end", seed, *outcome]), flush=True)


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def run(directory: Path, n_mutants: int, first: int = 0) -> Iterator[tuple[int, int, str, str, str]]:
    """(seed, kind, mutation, outcome, error) of every mutant; processes are started again after a crash or a hang."""
    last = first + n_mutants
    while first < last:
        command = [sys.executable, "-m", "benchmarks.fuzz", "--work", str(directory), str(first), str(last)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            begun: list[Any] | None = None
            for line in _lines(process):
                if line is None:
                    process.kill()
                    break
                if line[0] == "begin":
                    begun = line[1:]
                elif begun is not None:
                    yield (*begun, *line[2:])
                    first, begun = line[1] + 1, None
            process.wait()
            if begun is not None:
                outcome = "hang" if process.returncode == -9 else "crash"
                yield (*begun, outcome, f"exit {process.returncode}")
                first = begun[0] + 1
            elif first < last:
                raise RuntimeError(f"The process that reads mutants ended by itself with {process.returncode}.")


def _lines(process: subprocess.Popen[str]) -> Iterator[list[Any] | None]:
    """Lines as they come; None after too long a silence."""
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()

    def listen() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(line)
        lines.put("")

    threading.Thread(target=listen, daemon=True).start()
    patience = FIRST_SECONDS
    while True:
        try:
            line = lines.get(timeout=patience)
        except queue.Empty:
            yield None
            return
        if not line:
            return
        patience = MUTANT_SECONDS
        yield json.loads(line)


def main() -> None:
    parser = argparse.ArgumentParser(description="Read mutated model files and count what happens.")
    parser.add_argument("--mutants", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first mutant")
    parser.add_argument("--no-bounds-checks", action="store_true", help="take the kernels as users have them")
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        directory, *numbers = options.work
        work(Path(directory), *(int(number) for number in numbers))
        return
    if not options.no_bounds_checks:
        os.environ["NUMBA_BOUNDSCHECK"] = "1"
        os.environ.setdefault("COMMITTEE_CACHE_DIR", str(Path(tempfile.gettempdir()) / "committee-bounds-checked"))
    with tempfile.TemporaryDirectory() as directory:
        write_models(Path(directory))
        report(run(Path(directory), options.mutants, options.first))


def report(results: Iterator[tuple[int, int, str, str, str]]) -> None:
    """A table of outcomes by mutation and by kind, and all that should not be."""
    by_mutation: dict[str, Counter[str]] = {}
    by_kind: dict[str, Counter[str]] = {}
    for seed, kind, mutation, outcome, error in results:
        by_mutation.setdefault(mutation, Counter())[outcome] += 1
        by_kind.setdefault(KINDS[kind].name, Counter())[outcome] += 1
        if outcome not in ("rejected", "predictions", "same"):
            print(f"{outcome}: mutant {seed} of {KINDS[kind].name} by {mutation}: {error}", flush=True)
    columns = ("same", *OUTCOMES)
    for counts in (by_mutation, by_kind):
        print("\n| | " + " | ".join(columns) + " |\n|---" + "|---" * len(columns) + "|")
        for name, result in [*counts.items(), ("all", sum(counts.values(), Counter()))]:
            print(f"| {name} | " + " | ".join(str(result[column]) for column in columns) + " |")


if __name__ == "__main__":
    main()
