#include "runtime/tools/support/serve.h"

#include <condition_variable>
#include <deque>
#include <optional>
#include <string>
#include <thread>

#include "runtime/core/error.h"

namespace etlab {

namespace {

// Lines of a stream, read ahead by a thread of its own so that the end of the stream is seen while
// a line is worked on.
class Lines {
 public:
  Lines(std::istream& in, Session& session) : thread_([this, &in, &session] { read(in, session); }) {}
  ~Lines() { thread_.join(); }

  std::optional<std::string> next() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return is_ended_ || !lines_.empty(); });
    if (lines_.empty()) return std::nullopt;
    std::string line = std::move(lines_.front());
    lines_.pop_front();
    return line;
  }

 private:
  void read(std::istream& in, Session& session) {
    std::string line;
    while (std::getline(in, line)) {
      const std::lock_guard<std::mutex> lock(mutex_);
      lines_.push_back(line);
      changed_.notify_one();
    }
    session.stop();
    const std::lock_guard<std::mutex> lock(mutex_);
    is_ended_ = true;
    changed_.notify_one();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> lines_;
  bool is_ended_ = false;
  std::thread thread_;
};

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> words;
  size_t begin = 0;
  for (size_t end = line.find('\t'); end != std::string::npos; end = line.find('\t', begin)) {
    words.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  words.push_back(line.substr(begin));
  return words;
}

std::string on_one_line(std::string text) {
  for (char& symbol : text) {
    if (symbol == '\n' || symbol == '\r' || symbol == '\t') symbol = ' ';
  }
  return text;
}

std::string answer(Session& session, const std::string& line) {
  try {
    session.run(parse_request(split(line)), nullptr);
    return "ok";
  } catch (const Error& error) {
    return concat("error\t", words_of(error.kind()), "\t", on_one_line(error.what()));
  } catch (const std::exception& error) {
    return concat("error\t", words_of(ErrorKind::kInternal), "\t", on_one_line(error.what()));
  }
}

}  // namespace

const char* words_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInternal: return "internal error";
    case ErrorKind::kInvalidArgument: return "invalid argument";
    case ErrorKind::kInvalidProgram: return "invalid program";
    case ErrorKind::kNotFound: return "not found";
    case ErrorKind::kNotSupported: return "not supported";
    case ErrorKind::kOperatorMissing: return "operator missing";
    case ErrorKind::kBackendMissing: return "backend missing";
    case ErrorKind::kOutOfMemory: return "out of memory";
    case ErrorKind::kAccessFailed: return "access failed";
    case ErrorKind::kInterrupted: return "interrupted";
  }
  return "error";
}

void serve(Session& session, std::istream& in, std::ostream& out) {
  Lines lines(in, session);
  while (const std::optional<std::string> line = lines.next()) {
    out << answer(session, *line) << std::endl;
  }
}

}  // namespace etlab
