"""kdi transform, apply and inverse: map tables by the transformation, and back."""

from __future__ import annotations

import argparse
import os
from typing import Any

from kdi._saving.document import DISCRETIZER
from kdi._sketch.partitions import fit_partitioned
from kdi._tables.streams import TransformedStream, table_function, transform_named
from kdi._transformer.transformer import KDITransformer
from kdi._utils.atomic_write import target_path
from kdi._utils.names import format_names
from kdi.cli._choices import check_open_alpha, parse_alpha, parse_columns, parse_feature_range
from kdi.cli._errors import CommandError, error_context, print_error
from kdi.cli._inputs import Input, open_input
from kdi.cli._outputs import Output, check_paths_differ, save_text


def transform(options: argparse.Namespace) -> None:
    """Fit the transformation to a table, and write the transformed table."""
    feature_range = parse_feature_range(options.feature_range, options.normal)
    with open_input(options.input) as table:
        output = Output.from_options(options.output, options.format)
        model = None if options.save is None else target_path(options.save, "a model")
        check_paths_differ({"--output": output.path, "--save": model}, {})
        check_paths_differ({"--save": model}, {"the input": table.paths})
        _check_several_inputs(output, table)
        table.check_format(output.file_format)
        chosen = parse_columns(options.columns, table.source.names)
        features = table.select_features(chosen, options.weights, "passed through unchanged")
        alpha = parse_alpha(options.alpha, features)
        check_open_alpha(alpha, options.unbounded)
        transformer = KDITransformer(
            alpha,
            kernel=options.kernel,
            order=options.order,
            output_distribution="normal" if options.normal else "uniform",
            bounded=not options.unbounded,
            spread=options.spread,
            feature_range=feature_range,
            out_of_range=options.out_of_range,
        )
        if table.shows_progress:
            print_error(f"reading {format_names(features)} of {table.title}")
        with error_context(table.title, features):
            fit_partitioned(transformer, table.partitions(features, options.weights))
        with error_context(table.title):
            stream = _map_table(transformer, table, output)
            with save_text(model, "" if model is None else transformer.to_json()):
                _write(stream, table, output)


def apply(options: argparse.Namespace) -> None:
    """Transform a table with a saved model."""
    _apply_model(options, "transform")


def inverse(options: argparse.Namespace) -> None:
    """Map a transformed table back to the original values."""
    _apply_model(options, "inverse_transform")


def _apply_model(options: argparse.Namespace, method: str) -> None:
    model = read_model(options.model)
    with open_input(options.input) as table:
        output = Output.from_options(options.output, options.format)
        check_paths_differ({"--output": output.path}, {"the model": [options.model]})
        _check_several_inputs(output, table)
        table.check_format(output.file_format)
        _check_columns(model, table)
        with error_context(table.title):
            _write(_map_table(model, table, output, method), table, output)


def read_model(path: str) -> Any:
    """Read a fitted estimator from a file."""
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
        model.encode = "ordinal"  # one column per feature, so that the table keeps its columns
    return model


def _check_columns(model: Any, table: Input) -> None:
    """Raise unless a table has the columns that a model was fitted on, and they are numeric."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        table.check_columns([str(name) for name in names], ", which the model was fitted on")
        return
    columns, expected = table.source.feature_columns, model.n_features_in_
    if len(columns) != expected:
        raise CommandError(
            f"{table.title} must have exactly {expected} columns, since the model was fitted without column names; it "
            f"has {len(columns)}: {format_names(columns, 20)}."
        )
    table.check_columns(columns)


def _check_several_inputs(output: Output, table: Input) -> None:
    """Raise if the output would replace one of several inputs; a single input may be transformed in place."""
    if len(table.paths) > 1:
        check_paths_differ({"--output": output.path}, {"one of the inputs": table.paths})


def _map_table(estimator: Any, table: Input, output: Output, method: str = "transform") -> TransformedStream:
    return transform_named(
        estimator,
        table.paths,
        keep_text=output.file_format == "CSV",
        progress=table.shows_progress,
        function=table_function(estimator, method),
    )


def _write(stream: TransformedStream, table: Input, output: Output) -> None:
    if table.shows_progress:
        print_error(f"writing {output.title}")
    output.write(stream)
