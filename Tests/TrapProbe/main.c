// Programs as mprun has to bear with them: each says in a line how its calls went. It knows nothing of mprun.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double microseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

static int is_mptcp(int socket) {
    int protocol = 0;
    socklen_t length = sizeof protocol;
    return getsockopt(socket, SOL_SOCKET, SO_PROTOCOL, &protocol, &length) == 0 && protocol == 262;
}

static struct sockaddr_in server;

static int set_server(int count, char **words) {
    server.sin_family = AF_INET;
    server.sin_port = htons((uint16_t)(count > 1 ? atoi(words[1]) : 7));
    return count > 0 && inet_pton(AF_INET, words[0], &server.sin_addr) == 1;
}

static int open_descriptors(void) {
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    if (!folder) return -1;
    while (readdir(folder)) count++;
    closedir(folder);
    return count - 3;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void show(const char *name, double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, compare);
    printf("%s p50 %.2f p90 %.2f p99 %.2f us\n", name, values[count / 2], values[count * 9 / 10], values[count * 99 / 100]);
}

// What the calls take: of socket(2), of one that is not trapped, and of connect(2) where there is a server. Twenty of each, and then
// a pause of so many microseconds.
static int bench(int count, char **words) {
    int times = atoi(words[0]), pause = count > 3 ? atoi(words[3]) : 2000;
    double *made = malloc(sizeof *made * (size_t)times), *other = malloc(sizeof *other * (size_t)times);
    double *connected = malloc(sizeof *connected * (size_t)times);
    int connects = count > 1 && set_server(count - 1, words + 1), mptcp = 0;
    for (int round = 0; round < times; round++) {
        double start = microseconds();
        int socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        made[round] = microseconds() - start;
        if (socket_ < 0) return perror("socket"), 1;
        mptcp += is_mptcp(socket_);
        enum { CALLS = 100 };
        start = microseconds();
        for (int call = 0; call < CALLS; call++) syscall(SYS_getppid);
        other[round] = (microseconds() - start) / CALLS;
        if (connects) {
            start = microseconds();
            int result = connect(socket_, (struct sockaddr *)&server, sizeof server);
            connected[round] = microseconds() - start;
            if (result != 0 && errno != EINPROGRESS) return perror("connect"), 1;
            struct linger reset = {1, 0};
            setsockopt(socket_, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        }
        close(socket_);
        if (round % 20 == 0) usleep((useconds_t)pause);
    }
    printf("mptcp %d of %d\n", mptcp, times);
    show("socket", made, times);
    show("getppid", other, times);
    if (connects) show("connect", connected, times);
    return 0;
}

static int sockets_each, made_count, mptcp_count, failed_count;

static void *make_sockets(void *unused) {
    (void)unused;
    for (int round = 0; round < sockets_each; round++) {
        int made = socket(round % 3 ? AF_INET : AF_INET6, SOCK_STREAM, 0);
        if (made < 0) {
            __atomic_add_fetch(&failed_count, 1, __ATOMIC_RELAXED);
            continue;
        }
        __atomic_add_fetch(&made_count, 1, __ATOMIC_RELAXED);
        if (is_mptcp(made)) __atomic_add_fetch(&mptcp_count, 1, __ATOMIC_RELAXED);
        if (fcntl(made, F_GETFD) != 0 || fcntl(made, F_GETFL) != O_RDWR) {
            __atomic_add_fetch(&failed_count, 1, __ATOMIC_RELAXED);
        }
        close(made);
    }
    return NULL;
}

static int threads(int count, char **words) {
    int number = atoi(words[0]), before = open_descriptors();
    (void)count;
    sockets_each = atoi(words[1]) / number;
    pthread_t all[256];
    for (int place = 0; place < number; place++) pthread_create(&all[place], NULL, make_sockets, NULL);
    for (int place = 0; place < number; place++) pthread_join(all[place], NULL);
    printf("made %d mptcp %d failed %d left open %d\n", made_count, mptcp_count, failed_count, open_descriptors() - before);
    return 0;
}

// A conversation of one byte each way: whether it went well.
static int converse(int socket_) {
    char byte = 'x';
    struct pollfd state = {socket_, POLLIN, 0};
    if (send(socket_, &byte, 1, MSG_NOSIGNAL) != 1 || poll(&state, 1, 5000) != 1) return 0;
    return recv(socket_, &byte, 1, 0) == 1;
}

// Sockets that connect, for so many seconds: what failed of them.
static int calls(int count, char **words) {
    double end = microseconds() + atof(words[0]) * 1e6;
    int made = 0, mptcp = 0, last = 0, failed = 0, first_error = 0;
    const char *what = "none";
    if (!set_server(count - 1, words + 1)) return 2;
    while (microseconds() < end) {
        int socket_ = socket(AF_INET, SOCK_STREAM, 0);
        made++;
        if (socket_ < 0) {
            if (!failed++) what = "socket", first_error = errno;
            continue;
        }
        mptcp += last = is_mptcp(socket_);
        if (connect(socket_, (struct sockaddr *)&server, sizeof server) != 0) {
            if (!failed++) what = "connect", first_error = errno;
        } else if (!converse(socket_)) {
            if (!failed++) what = "converse", first_error = errno;
        }
        close(socket_);
    }
    printf("calls %d mptcp %d last mptcp %d failed %d first %s %s\n", made, mptcp, last, failed, what, first_error ? strerror(first_error) : "");
    return failed != 0;
}

// So many connections, one after the other, each with a conversation.
static int connections(int count, char **words) {
    int number = atoi(words[0]), mptcp = 0, failed = 0;
    if (!set_server(count - 1, words + 1)) return 2;
    for (int round = 0; round < number; round++) {
        int socket_ = socket(AF_INET, SOCK_STREAM, 0);
        mptcp += socket_ >= 0 && is_mptcp(socket_);
        if (connect(socket_, (struct sockaddr *)&server, sizeof server) != 0 || !converse(socket_)) failed++;
        close(socket_);
    }
    printf("connections %d mptcp %d failed %d\n", number, mptcp, failed);
    return failed != 0;
}

// Registered with epoll and duplicated before it connects: both have to stay about the same connection.
static int epoll_first(int count, char **words) {
    if (!set_server(count, words)) return 2;
    int socket_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), copy = dup(socket_), epoll = epoll_create1(0);
    struct epoll_event event = {EPOLLOUT | EPOLLIN | EPOLLET, {.fd = socket_}};
    epoll_ctl(epoll, EPOLL_CTL_ADD, socket_, &event);
    int result = connect(socket_, (struct sockaddr *)&server, sizeof server);
    if (result != 0 && errno != EINPROGRESS) return perror("connect"), 1;
    int number = 0, error = 0;
    socklen_t length = sizeof error;
    // An unconnected socket is told of at once (EPOLLHUP); the connection after that.
    for (int round = 0; round < 10; round++) {
        number = epoll_wait(epoll, &event, 1, 5000);
        if (number == 1 && event.events & EPOLLOUT && !(event.events & EPOLLHUP)) break;
    }
    getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &length);
    fcntl(socket_, F_SETFL, O_RDWR);
    printf("mptcp %d told %d error %d by the first %d by the copy %d\n", is_mptcp(socket_), number, error,
        converse(socket_), converse(copy));
    return 0;
}

// A filter of the program's own, which wins: here it refuses getppid(2), and allows the rest.
static int own_filter(int count, char **words) {
    struct sock_filter instructions[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_getppid, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {sizeof instructions / sizeof *instructions, instructions};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) return perror("filter"), 1;
    int refused = syscall(SYS_getppid) == -1 && errno == EPERM;
    int socket_ = socket(AF_INET, SOCK_STREAM, 0);
    int connected = set_server(count, words) && connect(socket_, (struct sockaddr *)&server, sizeof server) == 0;
    printf("own filter %d mptcp %d conversation %d\n", refused, is_mptcp(socket_), connected && converse(socket_));
    return 0;
}

static volatile sig_atomic_t signals_count;
static void count_signal(int number) { (void)number, signals_count++; }

// Signals all the time. Where their handler has the kernel restart nothing, a call that waits for its answer may end by EINTR.
static int storm(int count, char **words) {
    double end = microseconds() + atof(words[0]) * 1e6;
    int restarts = count < 2 || strcmp(words[1], "no-restart") != 0;
    struct sigaction action = {.sa_handler = count_signal, .sa_flags = restarts ? SA_RESTART : 0};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval often = {{0, 300}, {0, 300}};
    setitimer(ITIMER_REAL, &often, NULL);
    int made = 0, mptcp = 0, failed = 0, interrupted = 0;
    // A machine that is busy brings few of either.
    while (microseconds() < end || ((signals_count <= 100 || made <= 100) && microseconds() < end + 20e6)) {
        int socket_ = socket(AF_INET, SOCK_STREAM, 0);
        if (socket_ < 0 && errno == EINTR && !restarts) {
            interrupted++;
            continue;
        }
        made++;
        if (socket_ < 0) {
            failed++;
            continue;
        }
        mptcp += is_mptcp(socket_);
        close(socket_);
    }
    printf("signals %s sockets %s mptcp %s failed %d\n", signals_count > 100 ? "many" : "few", made > 100 ? "many" : "few",
        mptcp == made ? "all" : "some", failed);
    if (!restarts) printf("interrupted %d\n", interrupted);
    return failed != 0;
}

// Processes that come and go, by fork and by vfork: each makes a socket.
static int forks(int count, char **words) {
    // Static: a child by vfork has the parent's stack.
    static int number, mptcp, failed, running, round;
    number = atoi(words[0]);
    (void)count;
    while (round < number || running > 0) {
        if (round < number && running < 40) {
            pid_t child = round % 2 ? fork() : vfork();
            if (child == 0) {
                int socket_ = socket(AF_INET, SOCK_STREAM, 0);
                int outcome = socket_ < 0 ? 2 : is_mptcp(socket_) ? 0 : 1;
                // The parent's, where it was vfork that made it: the descriptors are copies.
                close(socket_);
                _exit(outcome);
            }
            if (child < 0) return perror("fork"), 1;
            round++, running++;
            continue;
        }
        int status;
        if (wait(&status) < 0) break;
        running--;
        if (!WIFEXITED(status) || WEXITSTATUS(status) == 2) failed++;
        else if (WEXITSTATUS(status) == 0) mptcp++;
    }
    printf("processes %d mptcp %d failed %d\n", number, mptcp, failed);
    return failed != 0;
}

// All descriptors closed, as daemons do.
static int close_all(int count, char **words) {
    for (int number = 3; number < 1024; number++) close(number);
    int socket_ = socket(AF_INET, SOCK_STREAM, 0);
    int connected = set_server(count, words) && connect(socket_, (struct sockaddr *)&server, sizeof server) == 0;
    printf("first number %d mptcp %d conversation %d\n", socket_, is_mptcp(socket_), connected && converse(socket_));
    return 0;
}

// A connection under another number than the one that connected, as a shell's.
static int moved(int count, char **words) {
    if (!set_server(count, words)) return 2;
    int socket_ = socket(AF_INET, SOCK_STREAM, 0);
    int connected = connect(socket_, (struct sockaddr *)&server, sizeof server) == 0;
    int copy = fcntl(socket_, F_DUPFD, 100);
    close(socket_);
    // Something else has the number.
    if (open("/dev/null", O_RDONLY) != socket_) return 1;
    int conversations = 0;
    for (int round = 0; round < 20 && connected; round++, usleep(20000)) conversations += converse(copy);
    printf("mptcp %d conversations %d\n", is_mptcp(copy), conversations);
    return 0;
}

static void *connect_and_end(void *socket_) {
    connect(*(int *)socket_, (struct sockaddr *)&server, sizeof server);
    return NULL;
}

// A thread connects, without waiting, and ends; another one uses the connection.
static int thread_ends(int count, char **words) {
    if (!set_server(count, words)) return 2;
    int socket_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    pthread_t thread;
    pthread_create(&thread, NULL, connect_and_end, &socket_);
    pthread_join(thread, NULL);
    struct pollfd state = {socket_, POLLOUT, 0};
    poll(&state, 1, 5000);
    fcntl(socket_, F_SETFL, O_RDWR);
    int conversations = 0;
    for (int round = 0; round < 20; round++, usleep(20000)) conversations += converse(socket_);
    printf("mptcp %d conversations %d\n", is_mptcp(socket_), conversations);
    return 0;
}

// Connects to a port without a server first, and with the same socket to one that has one when a command has been run.
static int twice(int count, char **words) {
    if (!set_server(count - 1, words + 1)) return 2;
    int socket_ = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in nothing = server;
    nothing.sin_port = htons(1);
    int refused = connect(socket_, (struct sockaddr *)&nothing, sizeof nothing) != 0 && errno == ECONNREFUSED;
    int status = system(words[0]);
    int connected = connect(socket_, (struct sockaddr *)&server, sizeof server) == 0;
    printf("refused %d command %d conversation %d\n", refused, status, connected && converse(socket_));
    return 0;
}

// Two sockets, the second of which is connected between two commands: by which interface (the number that it is bound to).
static int between(int count, char **words) {
    if (!set_server(count - 2, words + 2)) return 2;
    int first = socket(AF_INET, SOCK_STREAM, 0), second = socket(AF_INET, SOCK_STREAM, 0);
    int connected = connect(first, (struct sockaddr *)&server, sizeof server) == 0 && converse(first);
    int before = system(words[0]);
    connected += connect(second, (struct sockaddr *)&server, sizeof server) == 0 && converse(second);
    int after = system(words[1]), interface = 0;
    socklen_t length = sizeof interface;
    getsockopt(second, SOL_SOCKET, 62 /* SO_BINDTOIFINDEX */, &interface, &length);
    printf("commands %d conversations %d bound %d\n", before | after, connected, interface);
    return 0;
}

// A connect without waiting that fails, whose error is not fetched; then a command, and two more calls of connect. The first of them
// has the error, as on any socket, and the second connects.
static int unfetched(int count, char **words) {
    if (!set_server(count - 1, words + 1)) return 2;
    int socket_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    struct sockaddr_in nothing = server;
    nothing.sin_port = htons(1);
    int begun = connect(socket_, (struct sockaddr *)&nothing, sizeof nothing) != 0 && errno == EINPROGRESS;
    struct pollfd state = {socket_, POLLOUT, 0};
    poll(&state, 1, 5000);
    int status = system(words[0]);
    fcntl(socket_, F_SETFL, O_RDWR);
    int refused = connect(socket_, (struct sockaddr *)&server, sizeof server) != 0 ? errno : 0;
    int connected = connect(socket_, (struct sockaddr *)&server, sizeof server) == 0;
    printf("begun %d command %d then %s conversation %d\n", begun, status, strerror(refused), connected && converse(socket_));
    return 0;
}

// Sockets before a command and after it, until one is TCP, and some more in a while; each is connected.
static int kinds(int count, char **words) {
    if (!set_server(count - 1, words + 1)) return 2;
    int made = 0, before = 0, until = 0, later = 0, failed = 0, status = 0;
    for (int round = 0; round < 220; round++) {
        if (round == 4) status = system(words[0]);
        if (round == 200) usleep(2500000);
        int socket_ = socket(AF_INET, SOCK_STREAM, 0), mptcp = is_mptcp(socket_);
        if (round < 4) before += mptcp;
        else if (round < 200) until += mptcp;
        else later += mptcp;
        made++;
        if (connect(socket_, (struct sockaddr *)&server, sizeof server) != 0 || !converse(socket_)) failed++;
        close(socket_);
        // What is in reserve is used up, and nothing comes after it.
        if (round >= 4 && round < 200 && !mptcp) round = 199;
    }
    fprintf(stderr, "made %d mptcp %d, %d, %d failed %d\n", made, before, until, later, failed);
    printf("command %d\n", status);
    return 0;
}

static int outcome_of_clone;

static int make_in_clone(void *own) {
    int socket_ = socket(AF_INET, SOCK_STREAM, 0);
    *(int *)own = socket_ < 0 ? -1 : is_mptcp(socket_);
    int connected = socket_ >= 0 && connect(socket_, (struct sockaddr *)&server, sizeof server) == 0;
    if (connected && converse(socket_)) *(int *)own += 10;
    close(socket_);
    return 0;
}

static void *make_with_own_files(void *own) {
    unshare(CLONE_FILES);
    // Numbers mean another file here than in the process.
    close(3);
    close(4);
    make_in_clone(own);
    return NULL;
}

// Processes and threads that share more or less than usual: 11 is an MPTCP socket that carries a conversation.
static int clones(int count, char **words) {
    static const struct {
        const char *name;
        int flags;
    } all[] = {
        {"memory", CLONE_VM | SIGCHLD}, {"memory and files", CLONE_VM | CLONE_FILES | SIGCHLD},
        {"files", CLONE_VM | CLONE_FILES | CLONE_FS | CLONE_SIGHAND | SIGCHLD}, {"no signal", CLONE_VM},
        {"parent's parent", CLONE_VM | CLONE_PARENT}, {"process numbers", CLONE_VM | CLONE_NEWPID | SIGCHLD},
        {"network", CLONE_VM | CLONE_NEWNET | SIGCHLD},
    };
    static char stack[1 << 16] __attribute__((aligned(16)));
    if (!set_server(count, words)) return 2;
    for (unsigned place = 0; place < sizeof all / sizeof *all; place++) {
        outcome_of_clone = -2;
        pid_t child = clone(make_in_clone, stack + sizeof stack, all[place].flags, &outcome_of_clone);
        if (child < 0) {
            printf("%s: %s\n", all[place].name, strerror(errno));
            continue;
        }
        if (!(all[place].flags & CLONE_PARENT)) waitpid(child, NULL, __WALL);
        for (int round = 0; round < 500 && __atomic_load_n(&outcome_of_clone, __ATOMIC_ACQUIRE) < 10
             && all[place].flags & CLONE_PARENT; round++) usleep(10000);
        printf("%s: %d\n", all[place].name, outcome_of_clone);
    }
    pthread_t thread;
    outcome_of_clone = -2;
    pthread_create(&thread, NULL, make_with_own_files, &outcome_of_clone);
    pthread_join(thread, NULL);
    printf("a thread with files of its own: %d\n", outcome_of_clone);
    return 0;
}

// A child that is traced from call to call, as by a debugger.
static int traced(int count, char **words) {
    if (!set_server(count, words)) return 2;
    pid_t child = fork();
    if (child == 0) {
        int own = 0;
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        make_in_clone(&own);
        _exit(own);
    }
    int status, stops = 0;
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        stops++;
        ptrace(PTRACE_SYSCALL, child, NULL, NULL);
    }
    printf("stops %s outcome %d\n", stops > 10 ? "many" : "few", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    return 0;
}

#if defined(__x86_64__)
// A call by the door of 32-bit programs.
static int compat(int count, char **words) {
    (void)count, (void)words;
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "0"(359L), "b"((long)AF_INET), "c"((long)SOCK_STREAM), "d"(0L) : "memory");
    // Some kernels have no such door.
    printf("mptcp %d %s\n", result >= 0 && is_mptcp((int)result), result >= 0 || result == -ENOSYS ? "made" : "failed");
    return 0;
}
#else
static int compat(int count, char **words) {
    (void)count, (void)words;
    printf("mptcp 0 made\n");
    return 0;
}
#endif

// A daemon that outlives its parent, and connects then.
static int daemonize(int count, char **words) {
    if (!set_server(count - 1, words + 1)) return 2;
    if (fork() != 0) return 0;
    setsid();
    if (fork() != 0) _exit(0);
    usleep(500000);
    int file = open(words[0], O_WRONLY | O_CREAT | O_TRUNC, 0666);
    dup2(file, 1);
    int socket_ = socket(AF_INET, SOCK_STREAM, 0);
    int connected = connect(socket_, (struct sockaddr *)&server, sizeof server) == 0;
    printf("mptcp %d conversation %d\n", is_mptcp(socket_), connected && converse(socket_));
    fflush(stdout);
    return 0;
}

int main(int count, char **words) {
    static const struct {
        const char *name;
        int words;
        int (*run)(int, char **);
    } all[] = {
        {"bench", 1, bench}, {"threads", 2, threads}, {"calls", 2, calls}, {"connections", 2, connections},
        {"epoll-first", 1, epoll_first},
        {"own-filter", 1, own_filter}, {"storm", 1, storm}, {"forks", 1, forks}, {"close-all", 1, close_all},
        {"daemon", 2, daemonize}, {"moved", 2, moved}, {"thread-ends", 2, thread_ends}, {"twice", 3, twice}, {"between", 4, between},
        {"unfetched", 3, unfetched}, {"kinds", 3, kinds}, {"clones", 2, clones}, {"traced", 2, traced},
        {"compat", 0, compat},
    };
    for (unsigned place = 0; count > 1 && place < sizeof all / sizeof *all; place++) {
        if (strcmp(words[1], all[place].name) == 0 && count - 2 >= all[place].words) return all[place].run(count - 2, words + 2);
    }
    fprintf(stderr, "trap-probe: say one of bench, threads, calls, connections, epoll-first, own-filter, storm, forks, close-all, daemon, moved, "
                    "twice, between, unfetched, kinds, clones, traced, compat\n");
    return 2;
}
