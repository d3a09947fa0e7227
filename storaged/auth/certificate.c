/* OpenSSL reads them; its queue of errors is emptied, because gRPC's TLS shares the library's style. */
#include "auth/certificate.h"

#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

static X509 *read_certificate(struct sirix_bytes text)
{
    BIO *bio = text.len > INT_MAX ? NULL : BIO_new_mem_buf(text.data, (int)text.len);
    X509 *certificate = bio == NULL ? NULL : PEM_read_bio_X509(bio, NULL, NULL, NULL);

    BIO_free(bio);
    return certificate;
}

/* A key with a password would ask at a terminal. */
/* NOLINTNEXTLINE(readability-non-const-parameter): OpenSSL's type. */
static int no_password(char *buffer, int size, int for_writing, void *context)
{
    (void)buffer;
    (void)size;
    (void)for_writing;
    (void)context;
    return -1;
}

static EVP_PKEY *read_key(struct sirix_bytes text)
{
    BIO *bio = text.len > INT_MAX ? NULL : BIO_new_mem_buf(text.data, (int)text.len);
    EVP_PKEY *key = bio == NULL ? NULL : PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL);

    BIO_free(bio);
    return key;
}

enum sirix_status sirix_certificate_check_pair(struct sirix_bytes chain, struct sirix_bytes key,
                                               struct sirix_error *err)
{
    X509 *certificate = read_certificate(chain);
    EVP_PKEY *private_key = read_key(key);
    enum sirix_status status = SIRIX_OK;

    if (certificate == NULL) {
        status = sirix_fail(err, SIRIX_INVALID, "the certificate is no certificate in PEM");
    } else if (private_key == NULL) {
        status = sirix_fail(err, SIRIX_INVALID,
                            "the key is no private key in PEM, or it has a password");
    } else if (X509_check_private_key(certificate, private_key) != 1) {
        status = sirix_fail(err, SIRIX_INVALID, "the key is not that of the certificate");
    }
    X509_free(certificate);
    EVP_PKEY_free(private_key);
    ERR_clear_error();
    return status;
}

enum sirix_status sirix_certificate_check_roots(struct sirix_bytes roots, struct sirix_error *err)
{
    X509 *certificate = read_certificate(roots);

    X509_free(certificate);
    ERR_clear_error();
    return certificate == NULL ? sirix_fail(err, SIRIX_INVALID, "there is no certificate in PEM")
                               : SIRIX_OK;
}
