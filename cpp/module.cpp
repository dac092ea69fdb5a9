// The index of the compiled core. Each function has a NumPy twin of the same name in src/kdi/_numerics/numpy_core.py, which
// documents it; `fit` and `build_maps` have theirs in src/kdi/_integral (build.py, numpy_maps.py). The types are in
// src/kdi/_numerics/_core.pyi.
#include <nanobind/nanobind.h>

namespace kdi {
void bind_sketch(nanobind::module_&);    // scan, fill, accumulate, tally
void bind_cells(nanobind::module_&);     // cut, doublings, widen, merge
void bind_integral(nanobind::module_&);  // integrate, slopes, cubics
void bind_lookup(nanobind::module_&);    // PackedMaps, forward, inverse, forward_stored, inverse_stored
void bind_levels(nanobind::module_&);    // levels
void bind_fit(nanobind::module_&);       // fit, build_maps
void bind_clusters(nanobind::module_&);  // turning_points, assign, weights_between
}  // namespace kdi

NB_MODULE(_core, m) {
    nanobind::set_leak_warnings(false);  // a fitted model that lives until the interpreter ends is not a leak
    kdi::bind_sketch(m);
    kdi::bind_cells(m);
    kdi::bind_integral(m);
    kdi::bind_lookup(m);
    kdi::bind_levels(m);
    kdi::bind_fit(m);
    kdi::bind_clusters(m);
}
