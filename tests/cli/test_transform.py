"""kdi transform, apply and inverse give what KDITransformer gives."""

import numpy as np
import pandas as pd
import pytest
from cli_runs import assert_same_numbers, files_in, houses, refused, run

import kdi

FEATURES = ["income", "rooms", "households"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    houses().to_csv("houses.csv", index=False)
    return tmp_path


def read(path):
    return pd.read_csv(path, dtype={"key": str}, keep_default_na=False, na_values=[""])


def test_columns_of_numbers_are_transformed_and_others_pass_through(folder, capsys):
    run("transform", "houses.csv", "-o", "scaled.csv")
    found, table = read("scaled.csv"), read("houses.csv")
    expected = kdi.KDITransformer().fit_transform(table[FEATURES])
    assert_same_numbers(found[FEATURES], expected)
    assert found[["key", "city"]].equals(table[["key", "city"]])
    assert list(found) == list(table)
    assert capsys.readouterr().err == "kdi: note: not numeric, and passed through unchanged: 'key', 'city'.\n"


def test_missing_values_stay_missing(folder):
    run("transform", "houses.csv", "-o", "scaled.csv", "--columns", "rooms")
    assert np.flatnonzero(read("scaled.csv")["rooms"].isna()).tolist() == [3]


@pytest.mark.parametrize(
    "options, alpha",
    [
        ([], 1.0),
        (["--alpha", "0"], 0.0),
        (["--alpha", "inf"], np.inf),
        (["--alpha", "scott"], "scott"),
        (["--alpha", "rooms=0.3"], {"rooms": 0.3}),
        (["--alpha", "rooms=0.3,income=inf"], {"rooms": 0.3, "income": np.inf}),
        (["--alpha", "0.5", "--alpha", "rooms=2"], {"income": 0.5, "rooms": 2.0, "households": 0.5}),
    ],
)
def test_alpha(folder, options, alpha):
    run("transform", "houses.csv", "-o", "scaled.csv", *options)
    expected = kdi.KDITransformer(alpha).fit_transform(read("houses.csv")[FEATURES])
    assert_same_numbers(read("scaled.csv")[FEATURES], expected)


def test_weights_are_no_feature(folder):
    run("transform", "houses.csv", "-o", "scaled.csv", "--weights", "households", "--kernel", "gaussian")
    table, found = read("houses.csv"), read("scaled.csv")
    transformer = kdi.KDITransformer(kernel="gaussian")
    transformer.fit(table[["income", "rooms"]], sample_weight=table["households"])
    np.testing.assert_allclose(found[["income", "rooms"]], transformer.transform(table[["income", "rooms"]]), atol=1e-9)
    assert found["households"].equals(table["households"])


def test_the_order_of_the_kernel(folder):
    run("transform", "houses.csv", "-o", "scaled.csv", "--order", "1")
    table, found = read("houses.csv")[FEATURES], read("scaled.csv")[FEATURES]
    np.testing.assert_allclose(found, kdi.KDITransformer(order=1).fit_transform(table), rtol=0, atol=1e-12)
    assert abs(found - kdi.KDITransformer().fit_transform(table)).max(axis=None) > 1e-4


def test_normal(folder):
    run("transform", "houses.csv", "-o", "scaled.csv", "--columns", "income", "--normal")
    expected = kdi.KDITransformer(output_distribution="normal").fit_transform(read("houses.csv")[["income"]])
    assert_same_numbers(read("scaled.csv")[["income"]], expected)


@pytest.mark.parametrize(
    "options, parameters",
    [
        (["--unbounded"], {"bounded": False}),
        (["--unbounded", "--normal"], {"bounded": False, "output_distribution": "normal"}),
        (["--spread", "robust", "--alpha", "0.3"], {"spread": "robust", "alpha": 0.3}),
        (["--spread", "std"], {}),
        (["--feature-range", "-1", "1"], {"feature_range": (-1, 1)}),
        (["--feature-range", "-.5", "2e3", "--unbounded"], {"feature_range": (-0.5, 2000), "bounded": False}),
    ],
)
def test_bounds_spread_and_range(folder, options, parameters):
    run("transform", "houses.csv", *options, "-o", "scaled.csv", "--columns", "income,rooms", "--save", "model.json")
    table, found = read("houses.csv")[["income", "rooms"]], read("scaled.csv")[["income", "rooms"]]
    transformer = kdi.KDITransformer(**parameters).fit(table)
    np.testing.assert_allclose(found, transformer.transform(table), rtol=1e-12, atol=1e-10)
    saved = kdi.KDITransformer.from_json((folder / "model.json").read_text())
    assert saved.get_params() == transformer.get_params()
    np.testing.assert_array_equal(saved.transform(table), found)
    run("apply", "model.json", "houses.csv", "-o", "again.csv")
    np.testing.assert_array_equal(read("again.csv")[["income", "rooms"]], found)
    run("inverse", "model.json", "scaled.csv", "-o", "back.csv")
    np.testing.assert_allclose(read("back.csv")[["income", "rooms"]], table, rtol=1e-6)


@pytest.mark.parametrize(
    "options, message",
    [
        (["--unbounded", "--alpha", "inf"], "--alpha must be finite with --unbounded, got inf"),
        (["--unbounded", "--alpha", "rooms=inf"], "--alpha of 'rooms' must be finite with --unbounded, got inf"),
        (["--unbounded", "--alpha", "inf", "--alpha", "rooms=1"], "--alpha of 'income', 'households' must be finite"),
        (["--feature-range", "1", "1"], "--feature-range must be two numbers, the smaller first, got 1 1."),
        (["--feature-range", "0", "2", "--normal"], "--feature-range cannot be combined with --normal"),
    ],
)
def test_options_that_do_not_fit_are_refused(folder, capsys, options, message):
    assert message in refused(capsys, "transform", "houses.csv", "-o", "scaled.csv", *options)
    assert not (folder / "scaled.csv").exists()


def test_there_and_back(folder):
    run("transform", "houses.csv", "-o", "scaled.csv", "--save", "model.json")
    run("inverse", "model.json", "scaled.csv", "-o", "back.csv")
    back, table = read("back.csv"), read("houses.csv")
    np.testing.assert_allclose(back[FEATURES], table[FEATURES], rtol=1e-6)
    assert back[["key", "city"]].equals(table[["key", "city"]])


def test_a_model_is_the_same_model_in_python(folder):
    run("transform", "houses.csv", "-o", "scaled.csv", "--save", "model.json", "--out-of-range", "linear")
    houses(50, seed=1).to_csv("new.csv", index=False)
    run("apply", "model.json", "new.csv", "-o", "new_scaled.csv")
    model = kdi.KDITransformer.from_json((folder / "model.json").read_text())
    assert model.out_of_range == "linear"
    np.testing.assert_array_equal(read("new_scaled.csv")[FEATURES], model.transform(read("new.csv")[FEATURES]))


def test_apply_finds_columns_by_name_in_any_order(folder):
    run("transform", "houses.csv", "-o", "scaled.csv", "--save", "model.json")
    table = read("houses.csv")
    table[["rooms", "new", "households", "income"]] = np.c_[table[["rooms", "rooms", "households", "income"]]]
    table[["new", "rooms", "income", "households"]].to_csv("other.csv", index=False)
    run("apply", "model.json", "other.csv", "-o", "other_scaled.csv")
    found = read("other_scaled.csv")
    assert list(found) == ["new", "rooms", "income", "households"]
    np.testing.assert_array_equal(found[FEATURES], read("scaled.csv")[FEATURES])
    np.testing.assert_array_equal(found["new"], table["new"])


def test_a_discretizer_gives_the_number_of_the_bin(folder):
    table = read("houses.csv")[["income"]]
    model = kdi.KDIDiscretizer(encode="onehot").fit(table)
    (folder / "bins.json").write_text(model.to_json())
    run("apply", "bins.json", "houses.csv", "-o", "binned.csv")
    expected = kdi.KDIDiscretizer(encode="ordinal").fit_transform(table)
    np.testing.assert_array_equal(read("binned.csv")[["income"]], expected)
    run("inverse", "bins.json", "binned.csv", "-o", "back.csv")
    assert set(read("back.csv")["income"]) == set(model.inverse_transform(model.transform(table))[:, 0])


def test_a_model_without_names_takes_all_columns(folder):
    table = read("houses.csv")[FEATURES]
    (folder / "model.json").write_text(kdi.KDITransformer().fit(table.to_numpy()).to_json())
    table.to_csv("numbers.csv", index=False)
    run("apply", "model.json", "numbers.csv", "-o", "scaled.csv")
    assert_same_numbers(read("scaled.csv"), kdi.KDITransformer().fit_transform(table))


def test_names_with_commas_quotes_and_equals_signs(folder):
    names = ["a,b", 'say "x"', "x=1", "plain"]
    table = pd.DataFrame(np.random.default_rng(0).lognormal(size=(30, 4)), columns=names)
    table.to_csv("odd.csv", index=False)
    for chosen in (["--columns", "a,b"], ["--columns", '"a,b","say ""x"""', "--columns", "x=1"]):
        run("transform", "odd.csv", "-o", "scaled.csv", *chosen, "--alpha", "a,b=0.2")
    found = pd.read_csv("scaled.csv")
    expected = kdi.KDITransformer({"a,b": 0.2}).fit_transform(table[names[:3]])
    assert_same_numbers(found[names[:3]], expected)
    np.testing.assert_array_equal(found["plain"], table["plain"])


def test_errors_of_a_model_say_which_column_and_which_row(folder, capsys):
    table = read("houses.csv")[["income", "households"]]
    (folder / "bins.json").write_text(kdi.KDIDiscretizer(encode="ordinal").fit(table).to_json())
    lines = ["city,households,income", *["Ulm,0,0"] * 300_000, "Ulm,0,77"]  # several batches
    (folder / "bins.csv").write_text("\n".join(lines) + "\n")
    line = refused(capsys, "inverse", "bins.json", "bins.csv", "-o", "out.csv")
    assert "bins.csv: column 'income' must hold bins from 0 to 1, got 77.0 in row 300000" in line
    assert not (folder / "out.csv").exists()


def test_what_cannot_be_learned_or_applied(folder, capsys):
    run("transform", "houses.csv", "-o", "scaled.csv", "--save", "model.json")
    (folder / "broken.json").write_text("{")
    (folder / "part.csv").write_text("income,rooms\n1,2\n")
    (folder / "text.csv").write_text("income,rooms,households\n1,2,none\n")
    (folder / "nameless.json").write_text(kdi.KDITransformer().fit(np.arange(12.0).reshape(4, 3)).to_json())
    before = files_in(folder)
    cases = {
        ("transform", "houses.csv", "--columns", "income,size"): "no column 'size'; its columns are 'key', 'city'",
        ("transform", "houses.csv", "--columns", "income,income"): "got 'income' more than once",
        ("transform", "houses.csv", "--columns", "city"): "column 'city' of houses.csv must be numeric, got string",
        ("transform", "houses.csv", "--weights", "weight"): "no column 'weight'",
        ("transform", "houses.csv", "--columns", "income", "--weights", "income"): "holds the weights",
        ("transform", "houses.csv", "--alpha", "size=1"): "--alpha must name features, got 'size'; the features are",
        ("transform", "houses.csv", "--alpha", "rooms=x,income=1"): "--alpha of 'rooms': 'x' is not a number >= 0",
        ("apply", "model.json", "part.csv"): "part.csv has no column 'households', which the model was fitted on; its",
        ("apply", "model.json", "text.csv"): "'households' of text.csv must be numeric, got string, for example 'none'",
        (
            "inverse",
            "model.json",
            "text.csv",
        ): "'households' of text.csv must be numeric, got string, for example 'none'",
        ("apply", "nameless.json", "houses.csv"): "houses.csv must have exactly 3 columns, since the model was fitted "
        "without column names; it has 5: 'key', 'city'",
        ("apply", "nameless.json", "text.csv"): "'households' of text.csv must be numeric",
        ("apply", "broken.json", "houses.csv"): "'broken.json' cannot be used as a model",
        ("apply", "houses.csv", "houses.csv"): "'houses.csv' cannot be used as a model",
        ("apply", "none.json", "houses.csv"): "there is no model 'none.json'",
        ("inverse", ".", "houses.csv"): "'.': Is a directory",
    }
    for arguments, message in cases.items():
        assert message in refused(capsys, *arguments, "-o", "out.csv")
    assert files_in(folder) == before


def test_one_file_is_not_written_over_another(folder, capsys):
    run("transform", "houses.csv", "-o", "scaled.csv", "--save", "model.json")
    model = (folder / "model.json").read_bytes()
    houses().to_csv("more.csv", index=False)
    cases = {
        ("transform", "houses.csv", "-o", "a.csv", "--save", "./a.csv"): "--output and --save are the same file",
        ("transform", "houses.csv", "-o", "a.csv", "--save", "houses.csv"): "--save would replace the input",
        ("transform", "houses.csv", "more.csv", "-o", "more.csv"): "--output would replace one of the inputs",
        ("corr", "houses.csv", "-o", "houses.csv"): "--output would replace the input",
    }
    for arguments, message in cases.items():
        assert message in refused(capsys, *arguments)
    assert (folder / "model.json").read_bytes() == model
    assert read("more.csv").equals(read("houses.csv"))
