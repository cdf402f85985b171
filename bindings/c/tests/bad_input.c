/* Calls the library as no program should: every call must be an error. Run with address and undefined sanitizers. */
#include <nowcast.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXPECT(wanted, call)                                                                        \
    do {                                                                                            \
        nowcast_status got = (call);                                                                \
        if (got != (wanted)) {                                                                      \
            char why[256];                                                                          \
            nowcast_last_error(why, sizeof why);                                                    \
            fprintf(stderr, "%s:%d: %s is %d, not %d (%s)\n", __FILE__, __LINE__, #call, got, wanted, why); \
            exit(1);                                                                                \
        }                                                                                           \
    } while (0)

#define REQUIRE(condition)                                                       \
    do {                                                                         \
        if (!(condition)) {                                                      \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                             \
        }                                                                        \
    } while (0)

enum {
    OK = NOWCAST_STATUS_OK,
    TIMED_OUT = NOWCAST_STATUS_TIMED_OUT,
    CLOSED = NOWCAST_STATUS_CLOSED,
    REFUSED = NOWCAST_STATUS_REFUSED,
    SMALL = NOWCAST_STATUS_BUFFER_TOO_SMALL,
    ARGUMENT = NOWCAST_STATUS_INVALID_ARGUMENT,
    HANDLE = NOWCAST_STATUS_INVALID_HANDLE,
    FAILED = NOWCAST_STATUS_CONNECT_FAILED,
    MISSING = NOWCAST_STATUS_NOT_FOUND,
    FORKED = NOWCAST_STATUS_FORKED,
};

static uint64_t service, one, two;
static char NAME[64];

static void *connect_to_self(void *channel) {
    EXPECT(OK, nowcast_connect(NAME, 5000, channel));
    return NULL;
}

/* Opens both ends of a channel. A connection needs a service that accepts, so it is opened in a thread. */
static void open_both(uint64_t *connected, uint64_t *accepted) {
    pthread_t connecting;
    pthread_create(&connecting, NULL, connect_to_self, connected);
    EXPECT(OK, nowcast_service_accept(service, 5000, accepted));
    pthread_join(connecting, NULL);
}

static void null_pointers(void) {
    uint64_t handle = 0;
    nowcast_message message;
    uint8_t bytes[8] = {0};
    EXPECT(ARGUMENT, nowcast_connect(NULL, 0, &handle));
    EXPECT(ARGUMENT, nowcast_connect("name", 0, NULL));
    EXPECT(ARGUMENT, nowcast_advertise(NULL, &handle));
    EXPECT(ARGUMENT, nowcast_advertise("name", NULL));
    EXPECT(ARGUMENT, nowcast_listen(NULL, 0, false, NULL));
    EXPECT(ARGUMENT, nowcast_listen("not an address", 0, false, &handle));
    EXPECT(ARGUMENT, nowcast_service_accept(service, 0, NULL));
    EXPECT(ARGUMENT, nowcast_state(one, 0, 1, NULL, 8, 0));
    EXPECT(ARGUMENT, nowcast_state(one, 0, 1, bytes, SIZE_MAX, 0));
    EXPECT(OK, nowcast_state(one, 0, 1, NULL, 0, 0));
    EXPECT(ARGUMENT, nowcast_receive(two, bytes, 8, 0, NULL));
    EXPECT(ARGUMENT, nowcast_receive(two, NULL, 8, 0, &message));
    EXPECT(OK, nowcast_receive(two, NULL, 0, 1000, &message)); /* the empty state */
    EXPECT(ARGUMENT, nowcast_channel_close(one, 0, NULL));
    EXPECT(ARGUMENT, nowcast_channel_close(one, 5, "a code of the protocol"));
    EXPECT(ARGUMENT, nowcast_channel_status(one, NULL));
    EXPECT(ARGUMENT, nowcast_channel_descriptor(one, NULL));
    EXPECT(ARGUMENT, nowcast_world_join(one, NULL, 0, NULL, &handle));
    EXPECT(ARGUMENT, nowcast_world_join(one, "name", 1u << 31, NULL, &handle));
    EXPECT(ARGUMENT, nowcast_save_open(NULL, &handle));
    EXPECT(MISSING, nowcast_save_open("/no/such/file", &handle));
    EXPECT(ARGUMENT, nowcast_connect("\xff\xfe", 0, &handle));
    EXPECT(FAILED, nowcast_connect("no-such-name-anywhere", 30, &handle));
    nowcast_last_error(NULL, 0);
    char tiny[1] = {'x'};
    REQUIRE(nowcast_last_error(tiny, 1) > 0 && tiny[0] == 0);
}

static void wrong_handles(void) {
    uint8_t bytes[8];
    nowcast_message message;
    nowcast_update update;
    uint64_t wrong[] = {0, 1, UINT64_MAX, one + 1, one ^ (1ull << 56), service};
    for (size_t at = 0; at < sizeof wrong / sizeof *wrong; at++) {
        EXPECT(HANDLE, nowcast_state(wrong[at], 0, 1, bytes, 0, 0));
        EXPECT(HANDLE, nowcast_receive(wrong[at], bytes, 8, 0, &message));
        EXPECT(HANDLE, nowcast_drained(wrong[at], 0));
        EXPECT(HANDLE, nowcast_world_update(wrong[at], 0, &update));
        size_t rows;
        EXPECT(HANDLE, nowcast_save_next(wrong[at], &rows));
        if (wrong[at] != service) EXPECT(HANDLE, nowcast_free(wrong[at]));
    }
}

static void limits(void) {
    uint8_t bytes[64];
    nowcast_message message;
    EXPECT(REFUSED, nowcast_state(one, 0, 0, bytes, 0, 0));
    EXPECT(REFUSED, nowcast_state(one, 200, 1, bytes, 0, 0));
    static uint8_t large[8 << 20];
    EXPECT(REFUSED, nowcast_event(one, 0, large, sizeof large, 0));
    /* A buffer that is too small loses nothing. */
    EXPECT(OK, nowcast_event(one, 0, (const uint8_t *)"twelve bytes", 12, 0));
    for (size_t capacity = 0; capacity < 12; capacity++) {
        uint8_t *small = malloc(capacity ? capacity : 1);
        EXPECT(SMALL, nowcast_receive(two, small, capacity, 1000, &message));
        REQUIRE(message.length == 12);
        free(small);
    }
    EXPECT(OK, nowcast_receive(two, bytes, 12, 0, &message));
    REQUIRE(memcmp(bytes, "twelve bytes", 12) == 0);
    EXPECT(TIMED_OUT, nowcast_receive(two, bytes, sizeof bytes, 0, &message));
    size_t length;
    EXPECT(TIMED_OUT, nowcast_command(one, 0, bytes, 1, 20, bytes, sizeof bytes, &length));
    EXPECT(OK, nowcast_receive(two, bytes, sizeof bytes, 1000, &message));
    REQUIRE(message.kind == NOWCAST_MESSAGE_TYPE_COMMAND);
}

static void *receive_until_closed(void *unused) {
    uint8_t bytes[128];
    nowcast_message message;
    nowcast_status status;
    do status = nowcast_receive(two, bytes, sizeof bytes, -1, &message);
    while (status == OK);
    REQUIRE(status == CLOSED);
    return unused;
}

static void *use_while_another_frees(void *unused) {
    uint8_t bytes[80] = {0};
    nowcast_status status = OK;
    while (status == OK || status == TIMED_OUT) status = nowcast_state(one, 0, 1, bytes, sizeof bytes, 0);
    REQUIRE(status == HANDLE);
    return unused;
}

static void threads(void) {
    pthread_t users[3], receiver;
    pthread_create(&receiver, NULL, receive_until_closed, NULL);
    for (int at = 0; at < 3; at++) pthread_create(&users[at], NULL, use_while_another_frees, NULL);
    usleep(20000);
    EXPECT(OK, nowcast_free(one));
    EXPECT(HANDLE, nowcast_free(one));
    for (int at = 0; at < 3; at++) pthread_join(users[at], NULL);
    pthread_join(receiver, NULL); /* the other side is gone, so the channel closed */
    uint8_t bytes[8];
    nowcast_message message;
    EXPECT(CLOSED, nowcast_receive(two, bytes, 8, 0, &message));
}

static void forks(void) {
    pid_t child = fork();
    if (child == 0) {
        uint64_t handle;
        nowcast_status status = nowcast_connect("name", 0, &handle);
        if (status != FORKED || nowcast_free(two) != FORKED) _exit(1);
        _exit(0);
    }
    int status;
    if (waitpid(child, &status, 0) != child || status != 0) {
        fprintf(stderr, "the fork failed: %d\n", status);
        exit(1);
    }
}

static void many_handles(void) {
    for (int round = 0; round < 40000; round++) {
        uint64_t save;
        EXPECT(MISSING, nowcast_save_open("/no/such/file", &save));
    }
}

static void leave_without_free(void) {
    /* Interpreters end like this: live channels, and a thread that waits. */
    uint64_t left, right;
    pthread_t waiting;
    open_both(&left, &right);
    two = right;
    pthread_create(&waiting, NULL, receive_until_closed, NULL);
    pthread_detach(waiting);
}

int main(void) {
    snprintf(NAME, sizeof NAME, "ffi-bad-input-%d", (int)getpid());
    EXPECT(OK, nowcast_advertise(NAME, &service));
    EXPECT(FAILED, nowcast_advertise(NAME, &one));
    EXPECT(TIMED_OUT, nowcast_service_accept(service, 10, &one));
    open_both(&one, &two);
    null_pointers();
    wrong_handles();
    limits();
    threads();
    forks();
    many_handles();
    EXPECT(OK, nowcast_free(two));
    leave_without_free();
    puts("bad input: every call was an error");
    return 0;
}
