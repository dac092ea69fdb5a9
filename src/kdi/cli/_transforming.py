"""kdi transform, apply and inverse: tables through the transformation, and back."""

from __future__ import annotations

import argparse
import os
from typing import Any

from kdi._saving.document import DISCRETIZER
from kdi._tables.streams import TransformedStream, table_function, transform_named
from kdi._transformer.transformer import KDITransformer
from kdi._utils.atomic_write import target_path
from kdi._utils.names import format_names
from kdi.cli._choices import as_alpha, as_columns
from kdi.cli._errors import OTHERS, CommandError, error_context, print_error
from kdi.cli._inputs import Input, open_input
from kdi.cli._outputs import Output, check_paths_differ, saved_beside


def transform(options: argparse.Namespace) -> None:
    """Learn the transformation of a table, and write the table transformed."""
    with open_input(options.input) as table:
        output = Output.of(options.output, options.format)
        model = None if options.save is None else target_path(options.save, "a model")
        check_paths_differ({"--output": output.path, "--save": model}, {})
        check_paths_differ({"--save": model}, {"the input": table.paths})
        _refuse_one_of_many(output, table)
        table.check_output(output.kind)
        chosen = as_columns(options.columns, table.source.names)
        features = table.features(chosen, options.weights, "passed through unchanged")
        transformer = KDITransformer(
            as_alpha(options.alpha, features),
            kernel=options.kernel,
            output_distribution="normal" if options.normal else "uniform",
            out_of_range=options.out_of_range,
        )
        if table.shows_progress:
            print_error(f"reading {format_names(features)} of {table.title}")
        with error_context(table.title, OTHERS):
            transformer._fit_partitions(table.parts(features, options.weights))
        with error_context(table.title):
            stream = _stream(transformer, table, output)
            with saved_beside(model, "" if model is None else transformer.to_json()):
                _write(stream, table, output)


def apply(options: argparse.Namespace) -> None:
    """Transform a table with a model that was saved."""
    _map(options, "transform")


def inverse(options: argparse.Namespace) -> None:
    """Turn a table that was transformed back into values."""
    _map(options, "inverse_transform")


def _map(options: argparse.Namespace, method: str) -> None:
    model = read_model(options.model)
    with open_input(options.input) as table:
        output = Output.of(options.output, options.format)
        check_paths_differ({"--output": output.path}, {"the model": [options.model]})
        _refuse_one_of_many(output, table)
        table.check_output(output.kind)
        _check_columns(model, table)
        with error_context(table.title):
            _write(_stream(model, table, output, method), table, output)


def read_model(path: str) -> Any:
    """The fitted estimator that a file holds."""
    from kdi._clustering.discretizer import KDIDiscretizer

    path = os.path.expanduser(path)
    if not os.path.exists(path):
        raise CommandError(f"there is no model {path!r}.")
    with open(path, "rb") as file:
        text = file.read()
    cls: Any = KDIDiscretizer if DISCRETIZER.encode() in text[:1000] else KDITransformer
    try:
        model = cls.from_json(text)
    except ValueError as error:
        raise CommandError(f"{path!r} cannot be used as a model: {error}") from error
    if isinstance(model, KDIDiscretizer):
        model.encode = "ordinal"  # a column of a table stays one, whatever the model was fitted for
    return model


def _check_columns(model: Any, table: Input) -> None:
    """Raise unless a table has the columns that a model was fitted on, and they are numbers."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        table.check([str(name) for name in names], ", which the model was fitted on")
        return
    columns, expected = table.source.usual, model.n_features_in_
    if len(columns) != expected:
        raise CommandError(
            f"the model has no names of columns, so that {table.title} must have exactly its {expected} columns, but "
            f"it has {len(columns)}: {format_names(columns, 20)}."
        )
    table.check(columns)


def _refuse_one_of_many(output: Output, table: Input) -> None:
    """One file may be transformed in its place, but of many, one must not become all of them."""
    if len(table.paths) > 1:
        check_paths_differ({"--output": output.path}, {"one of the inputs": table.paths})


def _stream(estimator: Any, table: Input, output: Output, method: str = "transform") -> TransformedStream:
    return transform_named(
        estimator,
        table.paths,
        text=output.kind == "CSV",
        progress=table.shows_progress,
        function=table_function(estimator, method),
    )


def _write(stream: TransformedStream, table: Input, output: Output) -> None:
    if table.shows_progress:
        print_error(f"writing {output.title}")
    output.write(stream)
