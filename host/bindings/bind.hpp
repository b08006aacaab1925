// SPDX-License-Identifier: GPL-2.0-or-later
//
// The parts of the module, one a group of files of host/core. An earlier part's types may appear in a later one.

#pragma once

#include <nanobind/nanobind.h>

namespace perhop::bindings {

void bind_wire(nanobind::module_& module);
void bind_window_limits(nanobind::module_& module);
void bind_delay_estimator(nanobind::module_& module);
void bind_tcp_acks(nanobind::module_& module);
void bind_pacing(nanobind::module_& module);
void bind_exact(nanobind::module_& module);
void bind_tfrc(nanobind::module_& module);
void bind_shim(nanobind::module_& module);

}  // namespace perhop::bindings
