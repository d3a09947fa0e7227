/*
 * The file of principals, read into a table.
 *
 *     # Who may do what. One principal a line.
 *     ci        writer    token=sha256:9f86d0... databases=shop,log-* branches=ci-*
 *     backup    reader    certificate=dns:backup.example.org
 *     gateway   writer    token=sha256:60303a... token=sha256:fd61a0... speaks-for-others
 *
 * A line is a name (1 to 64 letters, digits, '.', '_', '-'), a role (reader, writer, operator) and
 * words behind them; '#' begins a comment. token=sha256:HEX is the SHA-256 of a token: a token is
 * random and long, so a plain hash cannot be guessed back, and a slow one would only slow calls down.
 * Up to SIRIX_PRINCIPAL_TOKENS_MAX of one principal are good at the same time, which is how one is
 * replaced. certificate=dns:NAME, uri:NAME or cn:NAME is a name in the client's certificate (cn: only
 * of one without other names). databases=, resources= and branches= are lists of patterns, parted by
 * commas. speaks-for-others: what it sends as on_behalf_of is believed.
 *
 * Secrets   The table holds hashes alone; no error and no log line repeats a word that may be a secret.
 */
#ifndef SIRIX_AUTH_PRINCIPAL_TABLE_H
#define SIRIX_AUTH_PRINCIPAL_TABLE_H

#include "auth/principal.h"
#include "base/status.h"

enum {
    SIRIX_PRINCIPALS_MAX = 1024,
    SIRIX_PRINCIPALS_FILE_BYTES_MAX = 4 * 1024 * 1024,
    SIRIX_PRINCIPAL_TOKENS_MAX = 2,
    SIRIX_PRINCIPAL_CERTIFICATES_MAX = 8,
    SIRIX_PRINCIPAL_PATTERNS_MAX = 64,
    SIRIX_TOKEN_BYTES_MIN = 16,
    SIRIX_TOKEN_BYTES_MAX = 512,
};

/* A name of a certificate: what kind it is, and the name. */
enum sirix_identity_kind { SIRIX_IDENTITY_DNS, SIRIX_IDENTITY_URI, SIRIX_IDENTITY_CN };
struct sirix_identity {
    enum sirix_identity_kind kind;
    struct sirix_bytes name;
};

/* What a call comes with. */
struct sirix_credentials {
    bool has_token;
    struct sirix_bytes token;
    const struct sirix_identity *identities; /* Of a certificate that was verified. */
    size_t identity_count;
};

/*
 * Reads the text of a file; the table has one reference. SIRIX_INVALID names the line; SIRIX_EXHAUSTED;
 * SIRIX_NO_MEMORY. Two principals with one name, token or certificate are refused.
 */
enum sirix_status sirix_principal_table_parse(struct sirix_bytes text,
                                              struct sirix_principal_table **out_table,
                                              struct sirix_error *err) SIRIX_MUST_CHECK;

void sirix_principal_table_ref(struct sirix_principal_table *table);
void sirix_principal_table_unref(struct sirix_principal_table *table);

size_t sirix_principal_table_count(const struct sirix_principal_table *table);

/* Says that another table took its place. */
void sirix_principal_table_retire(struct sirix_principal_table *table);

/*
 * The principal that the credentials are of: by the token if there is one, else by the certificate. It
 * has no reference of its own. SIRIX_UNAUTHENTICATED: nobody's; the time that a token takes tells
 * nothing of the others.
 */
enum sirix_status sirix_principal_table_find(const struct sirix_principal_table *table,
                                             const struct sirix_credentials *credentials,
                                             const struct sirix_principal **out_principal,
                                             struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
