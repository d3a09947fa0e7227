/*
 * gRPC as a library in somebody else's process: started with the first client, ended with the last.
 */
#ifndef SIRIX_TRANSPORT_RUNTIME_H
#define SIRIX_TRANSPORT_RUNTIME_H

/*
 * Starts gRPC, or counts one more user of it. The first call of a process also sets malloc up for
 * message buffers (gRPC streams at a sixth of the speed without) and silences gRPC's own log, which
 * a peer could fill. Any thread.
 */
void sirix_runtime_acquire(void);

/* Ends it when the last user is gone. */
void sirix_runtime_release(void);

#endif
