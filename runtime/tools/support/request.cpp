#include "runtime/tools/support/request.h"

#include "runtime/core/error.h"
#include "runtime/tools/support/arguments.h"

namespace etlab {

const char* const kUsage =
    "usage: etlab-run PROGRAM [--method NAME] [--data FILE.ptd ...] [--inputs VALUE ...] ...\n"
    "                 [--random SEED] [--outputs FOLDER] [--profile] [--etdump FILE]\n"
    "                 [--runs N] [--threads N] [--map] [--list] [--check-memory]\n"
    "       etlab-run --serve\n"
    "\n"
    "Runs a method of a program. A VALUE is a .npy file, another file with the bytes of a tensor\n"
    "(row-major, little-endian), or for an input that is no tensor the value itself: 3, 0.5, true,\n"
    "none. --inputs may be repeated: one call after the other, with the state that the one before\n"
    "left. Without it the inputs are zero, or random numbers with --random.\n"
    "\n"
    "  --method NAME     'forward' unless the program has one method only\n"
    "  --outputs FOLDER  write output_<n>.npy and outputs.json there; with several calls in folders\n"
    "                    0, 1, ... of it\n"
    "  --profile         the time of every instruction; events.csv in the folder of --outputs\n"
    "  --etdump FILE     write the events of all runs for ExecuTorch's Inspector, or etlab's\n"
    "  --runs N          run every call N times; outputs are those of the first\n"
    "  --threads N       of kernels\n"
    "  --map             map the file into memory instead of reading it\n"
    "  --list            print the instructions\n"
    "  --check-memory    find mistakes of the memory plan; slower\n"
    "  --serve           read command lines from standard input, arguments separated by tabs, and\n"
    "                    answer each with 'ok' or 'error<tab>KIND<tab>MESSAGE'. Methods stay loaded;\n"
    "                    the end of the input stops what runs.\n"
    "\n"
    "Exit codes: 0 done, 1 refused or failed (the message says why), 2 wrong command line.";

Request parse_request(const std::vector<std::string>& arguments) {
  Request request;
  ArgumentReader reader(arguments, kUsage);
  while (!reader.is_done()) {
    const std::string option = reader.take();
    if (option == "--method") {
      request.method = reader.value_of(option);
    } else if (option == "--data") {
      for (const std::string& file : reader.values()) request.data.push_back(file);
    } else if (option == "--inputs") {
      if (!request.calls) request.calls.emplace();
      request.calls->push_back(reader.values());
    } else if (option == "--random") {
      request.seed = reader.number_of<unsigned>(option, 0);
    } else if (option == "--outputs") {
      request.outputs = reader.value_of(option);
    } else if (option == "--etdump") {
      request.etdump = reader.value_of(option);
    } else if (option == "--runs") {
      request.runs = reader.number_of<int>(option, 1);
    } else if (option == "--threads") {
      request.threads = reader.number_of<int>(option, 1);
    } else if (option == "--profile") {
      request.profile = true;
    } else if (option == "--map") {
      request.map = true;
    } else if (option == "--list") {
      request.list = true;
    } else if (option == "--check-memory") {
      request.check_memory = true;
    } else {
      ETLAB_CHECK(option.substr(0, 2) != "--", kInvalidArgument, option, ": unknown option\n",
                  kUsage);
      ETLAB_CHECK(request.program.empty(), kInvalidArgument, option, ": a second program, after ",
                  request.program, "\n", kUsage);
      request.program = option;
    }
  }
  ETLAB_CHECK(!request.program.empty(), kInvalidArgument, "no program given\n", kUsage);
  return request;
}

}  // namespace etlab
