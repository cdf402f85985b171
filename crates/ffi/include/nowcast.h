/* Nowcast's C interface: channels, worlds as a client, save files.
 *
 * The test c_programs of crates/ffi compares this file with the Rust code: do not edit it.
 *
 * Status     Every function that can fail returns a nowcast_status; nowcast_last_error has the text. Results are written only on
 *            success, except lengths of NOWCAST_STATUS_BUFFER_TOO_SMALL. No function aborts, and no Rust panic leaves the library.
 * Handles    A handle is a number that names an object. 0 is never a handle. A freed or invented handle, or one of another kind,
 *            is the error NOWCAST_STATUS_INVALID_HANDLE. Free each handle once, by nowcast_free. At most 16384 exist.
 * Pointers   The caller owns all memory. The library reads and writes it only during the call, and keeps no pointer. A pointer
 *            with a length or a capacity points to that many values. A null pointer is an error, except where stated. Text is
 *            UTF-8 and ends with a NUL byte; a capacity counts the NUL byte, a length does not.
 * Timeouts   In milliseconds. 0 never waits, and a negative number waits without a limit. A call without a timeout does not wait,
 *            except those that open sockets.
 * Threads    Any thread may call any function with any handle. The calls of one channel, world or save file are
 *            safe at the same time; a thread's states and events keep their order. A freed handle may be used by another thread
 *            until nowcast_free returns; after that its calls return NOWCAST_STATUS_INVALID_HANDLE.
 * Callbacks  There are none: a program waits in nowcast_receive, or polls the descriptor of nowcast_channel_descriptor.
 * Fork       Handles do not survive a fork. If a process calls the library and then forks, every function in the child returns
 *            NOWCAST_STATUS_FORKED. Start programs by exec or posix_spawn, or fork before the first call.
 * Signals    The library installs no handler. A handler must not call it. A wait continues after a signal: to end it, close the
 *            channel in another thread, or wait in short timeouts.
 * Exit       The end of the process closes its channels; messages that have not left are lost. Call nowcast_drained, then free the
 *            handles, before exit. Threads of the library never call the program, so a program may exit at any time.
 * Memory     Sizes from peers and files are limited before memory is allocated. If the system has no memory for the rest, the
 *            process ends, as in any Rust program.
 */


#ifndef NOWCAST_H
#define NOWCAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The version of this interface. It changes whenever a program must be compiled again.
#define NOWCAST_ABI_VERSION 1

// The client joins as a program, which the rules of a world can tell from people.
#define NOWCAST_JOIN_PROGRAM 1

// The client predicts the steps of its avatar: see `nowcast_world_advance`.
#define NOWCAST_JOIN_PREDICT 2

// The result of a call. Every function that can fail returns one, and `nowcast_last_error` has the text.
enum nowcast_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // The call did its work.
    NOWCAST_STATUS_OK = 0,
    // The timeout passed. With a timeout of 0: there is no message yet, or no space.
    NOWCAST_STATUS_TIMED_OUT = 1,
    // The channel is closed, or the save file has no further chunk.
    NOWCAST_STATUS_CLOSED = 2,
    // A limit of the channel refused the message: no such lane, key 0, or too large. Sending it again fails again.
    NOWCAST_STATUS_REFUSED = 3,
    // The caller's buffer is too small. The required size was written, and nothing is lost: call again.
    NOWCAST_STATUS_BUFFER_TOO_SMALL = 4,
    // An argument is invalid: a null pointer, text that is not UTF-8, a number out of range, malformed JSON.
    NOWCAST_STATUS_INVALID_ARGUMENT = 5,
    // The handle is 0, was freed, never existed, or names an object of another kind.
    NOWCAST_STATUS_INVALID_HANDLE = 6,
    // No channel was opened, or no name advertised.
    NOWCAST_STATUS_CONNECT_FAILED = 7,
    // The peer broke the protocol, or a file is damaged.
    NOWCAST_STATUS_INVALID_DATA = 8,
    // The world has no such entity, player, kind or screen, or it is out of sight.
    NOWCAST_STATUS_NOT_FOUND = 9,
    // The process was forked. Only the parent may use its handles and this library.
    NOWCAST_STATUS_FORKED = 10,
    // This system has no such feature.
    NOWCAST_STATUS_UNSUPPORTED = 11,
    // A limit of the library: 16,384 handles, or memory.
    NOWCAST_STATUS_LIMIT_REACHED = 12,
    // An error in the library itself. Please report the text.
    NOWCAST_STATUS_INTERNAL = 13,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum nowcast_status nowcast_status;
#else
typedef int32_t nowcast_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// The kind of a message.
enum nowcast_message_type
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // The newest value of a key.
    NOWCAST_MESSAGE_TYPE_STATE = 0,
    // An event.
    NOWCAST_MESSAGE_TYPE_EVENT = 1,
    // A command, which waits for `nowcast_reply`.
    NOWCAST_MESSAGE_TYPE_COMMAND = 2,
    // Movement of a world, which only a world client reads.
    NOWCAST_MESSAGE_TYPE_REPLICATION = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum nowcast_message_type nowcast_message_type;
#else
typedef int32_t nowcast_message_type;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// The phase of a channel.
enum nowcast_phase
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // Not opened yet.
    NOWCAST_PHASE_CONNECTING = 0,
    // Packets flow.
    NOWCAST_PHASE_OPEN = 1,
    // The carrier is lost, and messages wait for the next one.
    NOWCAST_PHASE_INTERRUPTED = 2,
    // Closed.
    NOWCAST_PHASE_CLOSED = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum nowcast_phase nowcast_phase;
#else
typedef int32_t nowcast_phase;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// The carrier of a channel.
enum nowcast_carrier
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // No carrier yet.
    NOWCAST_CARRIER_NONE = 0,
    // Queues in shared memory.
    NOWCAST_CARRIER_SHARED_MEMORY = 1,
    // Queues over a local socket.
    NOWCAST_CARRIER_LOCAL_SOCKET = 2,
    // QUIC datagrams.
    NOWCAST_CARRIER_WEB_TRANSPORT = 3,
    // Messages on a TCP connection.
    NOWCAST_CARRIER_WEB_SOCKET = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum nowcast_carrier nowcast_carrier;
#else
typedef int32_t nowcast_carrier;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// The kind of an update.
enum nowcast_update_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // The client has joined. `id` is its player.
    NOWCAST_UPDATE_KIND_WELCOME = 0,
    // Other kinds, actions or events apply.
    NOWCAST_UPDATE_KIND_DEFINED = 1,
    // Entity `id` entered the client's sight, or its description or attributes changed.
    NOWCAST_UPDATE_KIND_ENTITY = 2,
    // Entity `id` left the client's sight.
    NOWCAST_UPDATE_KIND_HIDDEN = 3,
    // Entity `id` was removed from the world.
    NOWCAST_UPDATE_KIND_GONE = 4,
    // Player `id` joined, or its name or avatar changed.
    NOWCAST_UPDATE_KIND_PLAYER = 5,
    // Player `id` left.
    NOWCAST_UPDATE_KIND_LEFT = 6,
    // The value at screen `id` changed.
    NOWCAST_UPDATE_KIND_SCREEN = 7,
    // Entities moved. `id` is the step of the world.
    NOWCAST_UPDATE_KIND_MOVED = 8,
    // The rules emitted an event: JSON with `event` and `payload`.
    NOWCAST_UPDATE_KIND_EVENT = 9,
    // An action of this client was refused: JSON with `action`, `reason` and `number`.
    NOWCAST_UPDATE_KIND_ACTION_REFUSED = 10,
    // Durable action `id` was carried out.
    NOWCAST_UPDATE_KIND_DONE = 11,
    // A sentence for people: JSON with `text`.
    NOWCAST_UPDATE_KIND_NOTICE = 12,
    // The client owns entity `id` now.
    NOWCAST_UPDATE_KIND_GRANTED = 13,
    // A request as an owner was denied: JSON with `request`, `entity`, `number` and `reason`.
    NOWCAST_UPDATE_KIND_DENIED = 14,
    // A line of chat: JSON with `from`, `name` and `text`.
    NOWCAST_UPDATE_KIND_CHAT = 15,
    // Anything else, which a client may ignore.
    NOWCAST_UPDATE_KIND_OTHER = 16,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum nowcast_update_kind nowcast_update_kind;
#else
typedef int32_t nowcast_update_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// The description of a received message.
typedef struct nowcast_message {
    // The kind of the message.
    nowcast_message_type kind;
    // The lane, from 0.
    uint8_t lane;
    // The key of a state. Of a command, its number on the lane, for `nowcast_reply`. Otherwise 0.
    uint64_t key;
    // The number of bytes of the message.
    size_t length;
    // The time at which the value was produced, on the clock of `nowcast_now_ns`. `nowcast_now_ns() - produced_ns` is the age.
    int64_t produced_ns;
} nowcast_message;

// The status of a channel.
typedef struct nowcast_channel_info {
    // The phase.
    nowcast_phase phase;
    // The carrier, or the last one.
    nowcast_carrier carrier;
    // The code with which the channel was closed.
    uint32_t closed_code;
    // The smoothed round-trip time in nanoseconds; -1 if it is not known.
    int64_t rtt_ns;
    // The share of lost packets, 0 to 1.
    double loss;
    // Values that were never sent because a newer value replaced them.
    uint64_t superseded;
    // Values and events that were sent again after a loss.
    uint64_t resent;
    // The number of times that the channel continued over a new carrier.
    uint64_t resumed;
} nowcast_channel_info;

// The description of an update.
typedef struct nowcast_update {
    // The kind of the update.
    nowcast_update_kind kind;
    // The number that the kind states; otherwise 0.
    uint32_t id;
} nowcast_update;

// The state of a client.
typedef struct nowcast_world_state {
    // Whether the server has welcomed the client. If not, all other fields are 0.
    bool has_joined;
    // Whether the client continues as the player of an earlier session.
    bool is_resumed;
    // Whether the player has an avatar.
    bool has_avatar;
    // The number of the local player.
    uint32_t player;
    // The entity that the player moves.
    uint32_t avatar;
    // Steps of the world a second.
    uint32_t step_hz;
    // Rounds of movement a second.
    uint32_t network_hz;
    // The number of steps that the world had taken when the client joined.
    uint64_t tick;
    // The number of entities in sight.
    size_t entities;
    // The number of players in the room.
    size_t players;
} nowcast_world_state;

// An entity.
typedef struct nowcast_entity {
    // The number of its kind: see `nowcast_world_kind_name`.
    uint32_t kind;
    // The entity to which it is attached; 0 for none.
    uint32_t parent;
    // Whether a player owns the entity.
    bool has_owner;
    // The player that owns the entity.
    uint32_t owner;
    // Factors that multiply the kind's shape along its own axes.
    float scale[3];
    // Whether position and rotation are known.
    bool has_pose;
    // The newest position of the centre, in metres. In the frame of the parent, if there is one.
    float position[3];
    // The newest orientation: a unit quaternion x, y, z, w.
    float rotation[4];
} nowcast_entity;

// The input of an avatar. It applies until the next input.
typedef struct nowcast_input {
    // -1 to 1 along the direction that `yaw` faces.
    float forward;
    // -1 to 1 to the right of that direction.
    float right;
    // Direction in radians; 0 faces -Z, growing counter-clockwise seen from above.
    float yaw;
    // Not 0: run instead of walk.
    uint8_t run;
    // Not 0: jump whenever there is ground below.
    uint8_t jump;
} nowcast_input;

// The predicted avatar.
typedef struct nowcast_predicted {
    // Whether there is an avatar to predict. If not, position and velocity are 0.
    bool is_predicted;
    // The position after the newest step, in metres.
    float position[3];
    // The velocity after the newest step, in metres a second.
    float velocity[3];
    // The newest step.
    uint32_t step;
    // The number of corrections by the server so far.
    uint64_t corrections;
} nowcast_predicted;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Returns the version of the interface of the library that is loaded. A program compares it with `NOWCAST_ABI_VERSION` of the
// header with which it was compiled, and does not continue if they differ.
uint32_t nowcast_abi_version(void);

// Returns the version of the library, for example `0.1.0`. The text lives as long as the library.
const char *nowcast_version(void);

// Copies the text of the newest error of this thread into `text`, cut to `capacity` with its NUL byte. Returns the whole length
// without the NUL byte. A success does not change the text.
size_t nowcast_last_error(char *text,
                          size_t capacity);

// Returns the time in nanoseconds since the first use of the library, on the clock of `produced_ns`.
int64_t nowcast_now_ns(void);

// Frees any handle. The handle is invalid from then on, also in other threads. Freeing it again is the error
// `NOWCAST_STATUS_INVALID_HANDLE`.
//
// A channel closes when its handle and all worlds that use it are freed, after its messages have arrived or after 5 s. A call of
// another thread that waits on the channel keeps it open until the call returns: end that call with `nowcast_channel_close`.
nowcast_status nowcast_free(uint64_t handle);

// Connects to a service, and stores the handle in `channel`. The address is a name on this machine (`tracker`), or
// `nowcast://HOST:PORT/NAME`. While the service is not there, the call tries again until the timeout; it tries at least once.
nowcast_status nowcast_connect(const char *address,
                               int64_t timeout_ms,
                               uint64_t *channel);

// Advertises a name to the programs of this user on this machine, without a network port. Stores the handle in `service`.
nowcast_status nowcast_advertise(const char *name,
                                 uint64_t *service);

// Opens an endpoint for other machines and browsers, and stores its handle in `listener`. `host` is an IP address; null means
// this machine only (127.0.0.1). Port 0 lets the system choose. An endpoint that other machines can reach requires `anonymous`.
nowcast_status nowcast_listen(const char *host,
                              uint16_t port,
                              bool anonymous,
                              uint64_t *listener);

// Stores the port of the endpoint in `port`.
nowcast_status nowcast_listener_port(uint64_t listener, uint16_t *port);

// Advertises a name at the endpoint, and stores the handle in `service`. Programs on this machine find the name without a port.
nowcast_status nowcast_listener_advertise(uint64_t listener,
                                          const char *name,
                                          uint64_t *service);

// Publishes under a name for any number of subscribers, which call `nowcast_connect`. Stores the handle in `publisher`.
nowcast_status nowcast_listener_publish(uint64_t listener,
                                        const char *name,
                                        uint64_t *publisher);

// Waits for the next program that connects, and stores the handle of its channel in `channel`. One thread at a time waits on a
// service; others wait for that thread.
nowcast_status nowcast_service_accept(uint64_t service,
                                      int64_t timeout_ms,
                                      uint64_t *channel);

// Puts the newest value of `key`, at least 1, for all subscribers. Never waits.
nowcast_status nowcast_publisher_state(uint64_t publisher,
                                       uint64_t key,
                                       const uint8_t *bytes,
                                       size_t length);

// Puts an event for all present subscribers. Never waits.
nowcast_status nowcast_publisher_event(uint64_t publisher, const uint8_t *bytes, size_t length);

// Stores the number of subscribers in `count`.
nowcast_status nowcast_publisher_subscribers(uint64_t publisher, size_t *count);

// Puts the newest value of `key`, at least 1, on a lane. It replaces a value of the key that has not left yet. Waits only if the
// key is new and the lane is full.
nowcast_status nowcast_state(uint64_t channel,
                             uint8_t lane,
                             uint64_t key,
                             const uint8_t *bytes,
                             size_t length,
                             int64_t timeout_ms);

// Puts an event on a lane: it is delivered exactly once, in order, and after the states that were put before it. Waits while the
// lane is full.
nowcast_status nowcast_event(uint64_t channel,
                             uint8_t lane,
                             const uint8_t *bytes,
                             size_t length,
                             int64_t timeout_ms);

// Puts a command, waits for its reply, and copies the reply into `reply`. A negative timeout means 24 h. If the reply does not fit
// into `capacity`, it is lost, and `reply_length` is its length.
nowcast_status nowcast_command(uint64_t channel,
                               uint8_t lane,
                               const uint8_t *bytes,
                               size_t length,
                               int64_t timeout_ms,
                               uint8_t *reply,
                               size_t capacity,
                               size_t *reply_length);

// Answers a command. `lane` and `number` are the fields `lane` and `key` of its message. Waits while the lane is full.
nowcast_status nowcast_reply(uint64_t channel,
                             uint8_t lane,
                             uint64_t number,
                             const uint8_t *bytes,
                             size_t length,
                             int64_t timeout_ms);

// Receives the next message: copies its bytes into `buffer`, and stores its description in `message`. If the bytes do not fit
// into `capacity`, nothing is copied, `message->length` is the required size, and the next call receives the same message.
// Returns `NOWCAST_STATUS_CLOSED` after all messages were received.
nowcast_status nowcast_receive(uint64_t channel,
                               uint8_t *buffer,
                               size_t capacity,
                               int64_t timeout_ms,
                               struct nowcast_message *message);

// Stores a descriptor in `descriptor`, which is readable while messages wait: for `poll`, `epoll`, or the loop of another
// language. When it is readable, call `nowcast_receive` (or `nowcast_world_update`) with the timeout 0 until it returns
// `NOWCAST_STATUS_TIMED_OUT`, which makes the descriptor unreadable. Never read from it, and never close it: it belongs to the
// channel. The end of the channel makes it readable, too.
nowcast_status nowcast_channel_descriptor(uint64_t channel,
                                          int32_t *descriptor);

// Waits until all messages put before have arrived at the peer.
nowcast_status nowcast_drained(uint64_t channel, int64_t timeout_ms);

// Closes the channel at once; messages that have not arrived are lost. The peer receives `code` (0, or 64 and above) and
// `reason`. Calls that wait on the channel in other threads return `NOWCAST_STATUS_CLOSED`. The handle remains valid.
nowcast_status nowcast_channel_close(uint64_t channel,
                                     uint32_t code,
                                     const char *reason);

// Stores the status of the channel in `status`.
nowcast_status nowcast_channel_status(uint64_t channel, struct nowcast_channel_info *status);

// Joins the world at the other end of a channel as `name`, and stores the handle in `world`. `flags` is a sum of
// `NOWCAST_JOIN_…`, or 0. `key` is null, or 16 random bytes by which the client continues as the same player in a later session.
//
// The world uses the channel from then on. Do not receive from it. Its handle may be freed before that of the world.
nowcast_status nowcast_world_join(uint64_t channel,
                                  const char *name,
                                  uint32_t flags,
                                  const uint8_t *key,
                                  uint64_t *world);

// Handles the next message of the server, and stores the change that it made in `update`. Call it until it returns
// `NOWCAST_STATUS_TIMED_OUT`, in every frame.
nowcast_status nowcast_world_update(uint64_t world,
                                    int64_t timeout_ms,
                                    struct nowcast_update *update);

// Copies the content of the newest update as JSON; `null` for updates without one.
nowcast_status nowcast_world_update_json(uint64_t world,
                                         char *json,
                                         size_t capacity,
                                         size_t *length);

// Stores the state of the client in `info`.
nowcast_status nowcast_world_info(uint64_t world, struct nowcast_world_state *info);

// Copies the ids of the entities in sight, in order. `length` is their number.
nowcast_status nowcast_world_entities(uint64_t world,
                                      uint32_t *ids,
                                      size_t capacity,
                                      size_t *length);

// Copies the numbers of the players in the room, in order. `length` is their number.
nowcast_status nowcast_world_players(uint64_t world,
                                     uint32_t *players,
                                     size_t capacity,
                                     size_t *length);

// Copies the name of a player.
nowcast_status nowcast_world_player_name(uint64_t world,
                                         uint32_t player,
                                         char *name,
                                         size_t capacity,
                                         size_t *length);

// Stores an entity in `entity`.
nowcast_status nowcast_world_entity(uint64_t world, uint32_t id, struct nowcast_entity *entity);

// Copies the attributes of an entity as a JSON object.
nowcast_status nowcast_world_attributes(uint64_t world,
                                        uint32_t id,
                                        char *json,
                                        size_t capacity,
                                        size_t *length);

// Copies the name of a kind.
nowcast_status nowcast_world_kind_name(uint64_t world,
                                       uint32_t kind,
                                       char *name,
                                       size_t capacity,
                                       size_t *length);

// Copies a screen as JSON with `place`, `personal` and `value`.
nowcast_status nowcast_world_screen(uint64_t world,
                                    uint32_t number,
                                    char *json,
                                    size_t capacity,
                                    size_t *length);

// Sets the input of the avatar. It applies until the next call.
nowcast_status nowcast_world_input(uint64_t world, const struct nowcast_input *input);

// Takes the predicted steps that are due, sends the input, and stores the avatar in `predicted`. Call it once in every frame, after
// `nowcast_world_update`. Only for clients that joined with `NOWCAST_JOIN_PREDICT`.
nowcast_status nowcast_world_advance(uint64_t world,
                                     struct nowcast_predicted *predicted);

// Carries out an action that the world declares. `arguments` is a JSON object, or null. With a `number` above 0 the server answers
// by this number, and carries out a durable action once, however often it is sent. A client with a key counts those from 1.
nowcast_status nowcast_world_act(uint64_t world,
                                 const char *action,
                                 const char *arguments,
                                 uint32_t number);

// Sends a line of chat to all players in the room.
nowcast_status nowcast_world_say(uint64_t world, const char *line);

// Asks to own an entity. The answer is an update `NOWCAST_UPDATE_KIND_GRANTED` or `NOWCAST_UPDATE_KIND_DENIED` with `number`.
nowcast_status nowcast_world_own(uint64_t world,
                                 uint32_t id,
                                 uint32_t number);

// Gives an entity that the player owns back to the server.
nowcast_status nowcast_world_release(uint64_t world, uint32_t id);

// Sets the target pose of an entity that the player owns: `position` has 3 numbers in metres, `rotation` is a unit quaternion
// x, y, z, w.
nowcast_status nowcast_world_move(uint64_t world,
                                  uint32_t id,
                                  const float *position,
                                  const float *rotation);

// Opens a save file, and stores its handle in `save`. The file is read chunk by chunk, by `nowcast_save_next`.
nowcast_status nowcast_save_open(const char *path,
                                 uint64_t *save);

// Reads the next chunk, and stores the number of its rows in `rows`. Returns `NOWCAST_STATUS_CLOSED` after the last chunk, and
// `NOWCAST_STATUS_INVALID_DATA` if the file is damaged.
nowcast_status nowcast_save_next(uint64_t save,
                                 size_t *rows);

// Copies the shape of the rows of this chunk in schema notation, for example `Pose { x: f32, y: f32 }`.
nowcast_status nowcast_save_shape(uint64_t save,
                                  char *shape,
                                  size_t capacity,
                                  size_t *length);

// Copies row `row` of this chunk as JSON, counted from 0.
nowcast_status nowcast_save_row(uint64_t save,
                                size_t row,
                                char *json,
                                size_t capacity,
                                size_t *length);

// Copies the data about the file as JSON; `null` if the file has none, or before the first chunk was read.
nowcast_status nowcast_save_about(uint64_t save,
                                  char *json,
                                  size_t capacity,
                                  size_t *length);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* NOWCAST_H */
