// SPDX-License-Identifier: GPL-2.0-or-later
//
// A policy in Python behind the table of perhop_policy.h: a class whose methods have the names of the table's functions. Python runs in the
// process that asks, so that a call costs about a microsecond and simulated time stands while it answers.
//
// A run repeats: hashes of text and `random` begin in the same state in every process. What a policy prints goes to standard error.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "host/own/python_policy.h"

#include <array>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>

namespace {

/// Runs a file and gives its class. What is there to be asked is looked for by name, so a name that is slightly wrong must not pass.
constexpr char load_class[] = R"python(
import difflib, importlib.util, os, random, sys, traceback

sys.stdout = sys.stderr

class NotAPolicy(Exception):
    pass

def load(file, name, known):
    random.seed(0)
    module_name = "perhop_own_" + os.path.basename(file)[:-3]
    spec = importlib.util.spec_from_file_location(module_name, file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    spec.loader.exec_module(module)
    found = getattr(module, name, None)
    if not isinstance(found, type):
        classes = [key for key, value in vars(module).items() if isinstance(value, type)]
        raise NotAPolicy(f"there is no class {name} in it; it has {', '.join(classes) or 'none'}")
    for method in dir(found):
        if method not in known and callable(getattr(found, method)):
            meant = difflib.get_close_matches(method, known, 1, 0.8)
            if method.startswith("on_") or meant:
                raise NotAPolicy(f"{name}.{method} is never called; did you mean {', '.join(meant) or ' or '.join(known)}?")
    return found

def what_happened(error):
    if isinstance(error, NotAPolicy):
        return str(error)
    trace = error.__traceback__
    while trace and trace.tb_next and trace.tb_frame.f_code.co_filename.startswith("<"):
        trace = trace.tb_next
    return "".join(traceback.format_exception(type(error), error, trace)).strip()
)python";

// In the order of the structs of perhop_policy.h; a test compares them.
PyStructSequence_Field path_fields[] = {{"forward_hops", nullptr},
                                        {"return_hops", nullptr},
                                        {"forward_total_us", nullptr},
                                        {"forward_max_us", nullptr},
                                        {"return_total_us", nullptr},
                                        {"wired_round_trip_us", nullptr},
                                        {"round_trip_us", nullptr},
                                        {"least_round_trip_us", nullptr},
                                        {"packets_in_flight", nullptr},
                                        {"delivered_bytes", nullptr},
                                        {nullptr, nullptr}};
PyStructSequence_Field sent_fields[] = {{"payload_bytes", nullptr}, {"packets_in_flight", nullptr}, {nullptr, nullptr}};
PyStructSequence_Field release_fields[] = {{"payload_bytes", nullptr}, {"window_packets", nullptr}, {nullptr, nullptr}};
PyStructSequence_Field arrival_fields[] = {{"payload_bytes", nullptr},       {"packets_in_flight", nullptr}, {"forward_hops", nullptr},
                                           {"least_round_trip_us", nullptr}, {"in_order", nullptr},          {nullptr, nullptr}};
PyStructSequence_Field wait_fields[] = {
    {"oldest_arrival_us", nullptr}, {"last_arrival_us", nullptr}, {"inter_arrival_us256", nullptr}, {nullptr, nullptr}};
PyStructSequence_Field completion_fields[] = {{"peer", nullptr},
                                              {"delivered", nullptr},
                                              {"mpdu_bytes", nullptr},
                                              {"rate_index", nullptr},
                                              {"rts_attempts", nullptr},
                                              {"data_attempts", nullptr},
                                              {"slots_drawn", nullptr},
                                              {"queue_us", nullptr},
                                              {"ifs_us", nullptr},
                                              {"backoff_us", nullptr},
                                              {"frozen_cca_us", nullptr},
                                              {"frozen_nav_us", nullptr},
                                              {"control_us", nullptr},
                                              {"data_us", nullptr},
                                              {"response_us", nullptr},
                                              {"timeout_us", nullptr},
                                              {"responder_us", nullptr},
                                              {"avg_contention_us16", nullptr},
                                              {"avg_overhead_us16", nullptr},
                                              {"avg_data_attempts_256", nullptr},
                                              {nullptr, nullptr}};

/// How a struct of the interface, whose members are all of type `number`, is told to Python: a tuple whose members have names.
template <typename told, typename number>
class told_type {
public:
  template <std::size_t with_end>
  told_type(const char* name, const char* about, PyStructSequence_Field (&fields)[with_end])
      : description_{name, about, fields, with_end - 1} {
    static_assert(sizeof(told) % sizeof(number) == 0);
  }

  void make() {
    type_ = PyStructSequence_NewType(&description_);
    if (description_.n_in_sequence != static_cast<int>(count)) Py_FatalError("python_policy.cpp has not the fields of perhop_policy.h");
  }

  PyObject* of(const told& what) const {
    std::array<number, count> numbers;
    std::memcpy(numbers.data(), &what, sizeof what);
    PyObject* tuple = PyStructSequence_New(type_);
    for (std::size_t at = 0; tuple != nullptr && at < count; ++at) {
      PyStructSequence_SetItem(tuple, static_cast<Py_ssize_t>(at), PyLong_FromUnsignedLongLong(numbers[at]));
    }
    return tuple;
  }

private:
  static constexpr std::size_t count = sizeof(told) / sizeof(number);
  PyStructSequence_Desc description_;
  PyTypeObject* type_ = nullptr;
};

told_type<perhop_path, std::uint32_t> path_type("perhop.Path", "What a packet of the other end told of the path.", path_fields);
told_type<perhop_sent, std::uint32_t> sent_type("perhop.Sent", "A packet of the flow that has left TCP.", sent_fields);
told_type<perhop_release, std::uint32_t> release_type("perhop.Release", "A packet of the flow that wants to leave.", release_fields);
told_type<perhop_arrival, std::uint32_t> arrival_type("perhop.Arrival", "A packet of data that has arrived.", arrival_fields);
told_type<perhop_tcp_ack_wait, std::uint64_t> wait_type("perhop.TcpAckWait", "What a receiver waits for.", wait_fields);
told_type<perhop_completion, std::uint32_t> completion_type("perhop.Completion", "What the MAC says of a packet.", completion_fields);

PyObject* helpers = nullptr;  // the dictionary of load_class

struct with_python {
  with_python() : state(PyGILState_Ensure()) {}
  ~with_python() { PyGILState_Release(state); }
  PyGILState_STATE state;
};

std::string text_of(PyObject* text) {
  const char* const bytes = text != nullptr ? PyUnicode_AsUTF8(text) : nullptr;
  return bytes != nullptr ? bytes : "an error that cannot be told";
}

/// The error that Python has, with its traceback; it is then forgotten.
std::string taken_error() {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace != nullptr) PyException_SetTraceback(value, trace);
  PyObject* const said = PyObject_CallFunctionObjArgs(PyDict_GetItemString(helpers, "what_happened"), value, nullptr);
  std::string text = text_of(said);
  PyErr_Clear();
  Py_XDECREF(said);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  return text;
}

// ---- A policy, and an object of it

enum method : std::size_t {
  on_path,
  on_sent,
  on_arrival,
  on_tcp_ack_sent,
  on_completion,
  limit_packets,
  pacing_interval_us,
  tcp_ack_packets,
  tcp_ack_deadline_us,
  methods
};
constexpr std::array<const char*, methods> method_names{"on_path",
                                                        "on_sent",
                                                        "on_arrival",
                                                        "on_tcp_ack_sent",
                                                        "on_completion",
                                                        "limit_packets",
                                                        "pacing_interval_us",
                                                        "tcp_ack_packets",
                                                        "tcp_ack_deadline_us"};

struct python_policy {
  perhop_policy table;  // first, so that create finds the rest
  PyObject* type;
  std::string name;
};

struct python_object {
  const perhop_host* host;
  const python_policy* policy;
  std::array<PyObject*, methods> bound{};
};

void fail(const python_object& object, const std::string& problem) { object.host->fail(object.host->context, problem.c_str()); }

/// Takes `arguments`. @return null: it has failed
template <std::size_t many>
PyObject* call(const python_object& object, method which, std::array<PyObject*, many> arguments) {
  bool made = true;
  for (PyObject* argument : arguments) made = made && argument != nullptr;
  PyObject* const answer = made ? PyObject_Vectorcall(object.bound[which], arguments.data(), many, nullptr) : nullptr;
  for (PyObject* argument : arguments) Py_XDECREF(argument);
  if (answer == nullptr) fail(object, taken_error());
  return answer;
}

template <std::size_t many>
void tell(void* told, method which, std::array<PyObject*, many> arguments) {
  Py_XDECREF(call(*static_cast<python_object*>(told), which, arguments));
}

/// Takes `answer`. @return 0: it is none, or it has failed
std::uint64_t number_of(const python_object& object, method which, PyObject* answer, std::uint64_t least, std::uint64_t most, bool or_none,
                        const char* what) {
  if (answer == nullptr) return 0;
  std::uint64_t number = 0;
  bool fits = or_none && answer == Py_None;
  if (PyLong_Check(answer) && !PyBool_Check(answer)) {
    number = PyLong_AsUnsignedLongLong(answer);
    fits = PyErr_Occurred() == nullptr && number >= least && number <= most;
    PyErr_Clear();
  }
  if (!fits) {
    PyObject* const shown = PyObject_Repr(answer);
    fail(object,
         object.policy->name + "." + method_names[which] + " gave " + text_of(shown) + ": give " + what + (or_none ? ", or None" : ""));
    Py_XDECREF(shown);
    PyErr_Clear();
  }
  Py_DECREF(answer);
  return fits ? number : 0;
}

constexpr std::uint64_t most_packets = 1'000'000, longest_us = UINT64_C(1) << 62;

void* create(const perhop_policy* table, const perhop_host* host) {
  const with_python held;
  const python_policy& policy = *reinterpret_cast<const python_policy*>(table);
  auto* const object = new python_object{host, &policy};
  PyObject* const self = PyObject_CallNoArgs(policy.type);
  for (std::size_t each = 0; self != nullptr && each < methods; ++each) {
    object->bound[each] = PyObject_GetAttrString(self, method_names[each]);
    PyErr_Clear();
  }
  if (self == nullptr) fail(*object, taken_error());
  Py_XDECREF(self);
  return object;
}

void destroy(void* object) {
  const with_python held;
  auto* const made = static_cast<python_object*>(object);
  for (PyObject* each : made->bound) Py_XDECREF(each);
  delete made;
}

PyObject* time_of(std::uint64_t now_us) { return PyLong_FromUnsignedLongLong(now_us); }

perhop_policy make_table(PyObject* type) {
  perhop_policy table{.interface_version = PERHOP_POLICY_INTERFACE, .create = create, .destroy = destroy};
  const auto has = [type](method which) { return PyObject_HasAttrString(type, method_names[which]) == 1; };
  if (has(on_path)) {
    table.on_path = [](void* object, std::uint64_t now_us, const perhop_path* path) {
      const with_python held;
      tell<2>(object, on_path, {time_of(now_us), path_type.of(*path)});
    };
  }
  if (has(on_sent)) {
    table.on_sent = [](void* object, std::uint64_t now_us, const perhop_sent* sent) {
      const with_python held;
      tell<2>(object, on_sent, {time_of(now_us), sent_type.of(*sent)});
    };
  }
  if (has(on_arrival)) {
    table.on_arrival = [](void* object, std::uint64_t now_us, const perhop_arrival* arrival) {
      const with_python held;
      tell<2>(object, on_arrival, {time_of(now_us), arrival_type.of(*arrival)});
    };
  }
  if (has(on_tcp_ack_sent)) {
    table.on_tcp_ack_sent = [](void* object, std::uint64_t now_us, std::uint32_t packets_in_vain) {
      const with_python held;
      tell<2>(object, on_tcp_ack_sent, {time_of(now_us), PyLong_FromUnsignedLong(packets_in_vain)});
    };
  }
  if (has(on_completion)) {
    table.on_completion = [](void* object, std::uint64_t now_us, const perhop_completion* completion) {
      const with_python held;
      tell<2>(object, on_completion, {time_of(now_us), completion_type.of(*completion)});
    };
  }
  if (has(limit_packets)) {
    table.limit_packets = [](void* object) {
      const with_python held;
      const python_object& self = *static_cast<python_object*>(object);
      return static_cast<std::uint32_t>(
          number_of(self, limit_packets, call<0>(self, limit_packets, {}), 1, most_packets, true, "packets, a whole number from 1 on"));
    };
  }
  if (has(pacing_interval_us)) {
    table.pacing_interval_us = [](void* object, std::uint64_t now_us, const perhop_release* release) {
      const with_python held;
      const python_object& self = *static_cast<python_object*>(object);
      return number_of(self, pacing_interval_us, call<2>(self, pacing_interval_us, {time_of(now_us), release_type.of(*release)}), 0,
                       longest_us, false, "microseconds, a whole number from 0 on");
    };
  }
  if (has(tcp_ack_packets)) {
    table.tcp_ack_packets = [](void* object) {
      const with_python held;
      const python_object& self = *static_cast<python_object*>(object);
      return static_cast<std::uint32_t>(number_of(self, tcp_ack_packets, call<0>(self, tcp_ack_packets, {}), 1, most_packets, false,
                                                  "packets, a whole number from 1 on"));
    };
  }
  if (has(tcp_ack_deadline_us)) {
    table.tcp_ack_deadline_us = [](void* object, const perhop_tcp_ack_wait* wait) {
      const with_python held;
      const python_object& self = *static_cast<python_object*>(object);
      return number_of(self, tcp_ack_deadline_us, call<1>(self, tcp_ack_deadline_us, {wait_type.of(*wait)}), 0, longest_us, false,
                       "a moment in microseconds, a whole number");
    };
  }
  return table;
}

// ---- The interpreter

/// @param problem what is wrong; untouched when it runs
bool start_python(std::string& problem) {
  PyConfig config;
  PyConfig_InitIsolatedConfig(&config);
  config.use_hash_seed = 1;
  config.hash_seed = 0;
  config.write_bytecode = 0;
  config.buffered_stdio = 0;
  PyStatus status = PyStatus_Ok();
  // With the packages of the Python that started us, where it did.
  if (const char* const python = std::getenv("PERHOP_PYTHON")) status = PyConfig_SetBytesString(&config, &config.executable, python);
  if (!PyStatus_Exception(status)) status = Py_InitializeFromConfig(&config);
  PyConfig_Clear(&config);
  if (PyStatus_Exception(status)) {
    problem = std::string("Python does not start: ") + (status.err_msg != nullptr ? status.err_msg : "no reason is told");
    return false;
  }
  helpers = PyDict_New();
  PyDict_SetItemString(helpers, "__builtins__", PyEval_GetBuiltins());
  PyObject* const run = PyRun_String(load_class, Py_file_input, helpers, helpers);
  if (run == nullptr) Py_FatalError("python_policy.cpp cannot begin");
  Py_DECREF(run);
  path_type.make();
  sent_type.make();
  release_type.make();
  arrival_type.make();
  wait_type.make();
  completion_type.make();
  PyEval_SaveThread();  // so that each call takes Python, and a policy's own threads may run between
  return true;
}

}  // namespace

extern "C" const perhop_policy* perhop_open_python_policy(const char* file, const char* name, char* problem, std::size_t problem_bytes) {
  std::string said;
  if (Py_IsInitialized() == 0 && !start_python(said)) {
    std::snprintf(problem, problem_bytes, "%s", said.c_str());
    return nullptr;
  }
  const with_python held;
  PyObject* const known = PyTuple_New(methods);
  for (std::size_t each = 0; each < methods; ++each) {
    PyTuple_SetItem(known, static_cast<Py_ssize_t>(each), PyUnicode_FromString(method_names[each]));
  }
  PyObject* const type = PyObject_CallFunction(PyDict_GetItemString(helpers, "load"), "ssO", file, name, known);
  Py_DECREF(known);
  if (type == nullptr) {
    std::snprintf(problem, problem_bytes, "%s: %s", file, taken_error().c_str());
    return nullptr;
  }
  return &(new python_policy{make_table(type), type, name})->table;
}
