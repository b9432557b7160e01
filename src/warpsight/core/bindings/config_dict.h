// A validated GPU model (flat dict "section.key" -> value) as the core reads it.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "base/config.h"

namespace ws {

// bool and int become int64; lists must be all numbers or all strings. Throws nanobind::type_error naming the key otherwise.
inline Config config_from(nanobind::dict values) {
  namespace nb = nanobind;
  Config config;
  for (auto [key, value] : values) {
    const std::string name = nb::cast<std::string>(key);
    if (nb::isinstance<nb::bool_>(value) || nb::isinstance<nb::int_>(value)) {
      config.set(name, nb::cast<int64_t>(nb::int_(nb::borrow(value))));
    } else if (nb::isinstance<nb::float_>(value)) {
      config.set(name, nb::cast<double>(value));
    } else if (nb::isinstance<nb::str>(value)) {
      config.set(name, nb::cast<std::string>(value));
    } else {
      std::vector<double> numbers;
      std::vector<std::string> texts;
      if (nb::try_cast(value, numbers)) {
        config.set(name, std::move(numbers));
      } else if (nb::try_cast(value, texts)) {
        config.set(name, std::move(texts));
      } else {
        throw nb::type_error(("GPU model: the value of '" + name + "' is neither a number, a text nor a list of one of them").c_str());
      }
    }
  }
  return config;
}

}  // namespace ws
