#!/bin/sh
# Makes the certificates, keys and keystores of the tests; they are kept with the source, so that tests need neither OpenSSL
# nor Java. Needs openssl 3 with its legacy provider, keytool, and python3. Every password is "secret" unless a file's name
# says otherwise. Keys are random: a new run changes every file.
set -eu
cd "$(dirname "$0")"
rm -rf certificates keys stores
mkdir certificates keys stores
DAYS=36500
NOT_ASCII=$(printf 'p\303\244ss')
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

# --- certificates ---------------------------------------------------------------------------------------------------------

ec_key() { openssl genpkey -algorithm EC -pkeyopt "ec_paramgen_curve:$1" -out "$2"; }
# issue NAME EXTENSIONS ISSUER
issue() {
    openssl req -new -key "$WORK/$1.key" -subj "/CN=$1" -out "$WORK/$1.csr"
    printf '%b' "$2" > "$WORK/$1.ext"
    openssl x509 -req -in "$WORK/$1.csr" -CA "certificates/$3.pem" -CAkey "$WORK/$3.key" -days $DAYS -extfile "$WORK/$1.ext" \
        -out "certificates/$1.pem" 2> /dev/null
}

for name in root intermediate leaf other; do ec_key P-256 "$WORK/$name.key"; done
openssl req -x509 -key "$WORK/root.key" -subj /CN=root -days $DAYS -addext basicConstraints=critical,CA:true -out certificates/root.pem
issue intermediate 'basicConstraints=critical,CA:true\n' root
issue leaf 'subjectAltName=DNS:leaf.example\nextendedKeyUsage=clientAuth\n' intermediate
issue other 'subjectAltName=DNS:other.example\n' root
openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out "$WORK/rsa.key"
issue rsa 'subjectAltName=DNS:rsa.example\n' root
for curve in P-384 P-521; do ec_key $curve "$WORK/$curve.key"; issue $curve 'subjectAltName=DNS:ec.example\n' root; done
openssl genpkey -algorithm ED25519 -out "$WORK/ed25519.key"
issue ed25519 'subjectAltName=DNS:ed25519.example\n' root
# X.509 version 1: without extensions.
openssl x509 -req -in "$WORK/leaf.csr" -CA certificates/root.pem -CAkey "$WORK/root.key" -days $DAYS -out certificates/version1.pem 2> /dev/null
openssl x509 -in certificates/leaf.pem -outform DER -out certificates/leaf.der
openssl x509 -in certificates/leaf.pem -trustout -addtrust clientAuth -setalias friend -out certificates/trusted.pem
openssl x509 -in certificates/leaf.pem -text > "$WORK/text.pem"
cat "$WORK/text.pem" certificates/intermediate.pem "$WORK/leaf.key" certificates/root.pem > certificates/chain_with_text.pem
touch "$WORK/index"
printf '[ca]\ndefault_ca=d\n[d]\ndatabase=%s/index\ncrlnumber=%s/number\ndefault_md=sha256\n' "$WORK" "$WORK" > "$WORK/ca.conf"
echo 01 > "$WORK/number"
openssl ca -config "$WORK/ca.conf" -gencrl -crldays $DAYS -cert certificates/root.pem -keyfile "$WORK/root.key" -out certificates/root.crl 2> /dev/null

# --- private keys: plain forms of one key each, then its encryptions -------------------------------------------------------

KEY="$WORK/leaf.key"
LEGACY="-provider legacy -provider default"
for name in leaf rsa ed25519 P-384 P-521; do cp "$WORK/$name.key" "keys/$name.pkcs8.pem"; done
openssl ec -in "$KEY" -out keys/leaf.sec1.pem 2> /dev/null
openssl ecparam -name prime256v1 -out "$WORK/parameters.pem"
cat "$WORK/parameters.pem" keys/leaf.sec1.pem > keys/leaf.sec1_with_parameters.pem
openssl rsa -in "$WORK/rsa.key" -traditional -out keys/rsa.pkcs1.pem 2> /dev/null
openssl pkcs8 -topk8 -nocrypt -in "$KEY" -outform DER -out keys/leaf.pkcs8.der
openssl ec -in "$KEY" -outform DER -out keys/leaf.sec1.der 2> /dev/null
openssl rsa -in "$WORK/rsa.key" -traditional -outform DER -out keys/rsa.pkcs1.der 2> /dev/null

pkcs8() { out=$1; shift; openssl pkcs8 -topk8 -in "$KEY" -passout pass:secret -out "keys/$out.pem" "$@"; }
for cipher in aes-128-cbc aes-192-cbc aes-256-cbc des3; do pkcs8 "leaf.pbes2-$cipher" -v2 $cipher; done
for cipher in des-cbc rc2-cbc rc2-64-cbc rc2-40-cbc; do pkcs8 "leaf.pbes2-$cipher" -v2 $cipher $LEGACY; done
for hash in SHA1 SHA224 SHA256 SHA384 SHA512 SHA512-256; do pkcs8 "leaf.pbes2-hmac-$hash" -v2 aes-128-cbc -v2prf "hmacWith$hash"; done
pkcs8 leaf.pbes2-scrypt -scrypt
pkcs8 leaf.pbes2-1-iteration -iter 1
pkcs8 leaf.pbes2-scrypt-cheap -scrypt -scrypt_N 16 -scrypt_r 1 -scrypt_p 1
for scheme in MD5-DES SHA1-DES SHA1-3DES SHA1-2DES SHA1-RC2-128 SHA1-RC2-40; do pkcs8 "leaf.pbes1-$scheme" -v1 PBE-$scheme $LEGACY; done
openssl pkcs8 -topk8 -in "$KEY" -passout pass:secret -outform DER -out keys/leaf.pbes2.der
openssl pkcs8 -topk8 -in "$WORK/rsa.key" -passout pass:secret -out keys/rsa.pbes2.pem
openssl pkcs8 -topk8 -in "$KEY" -passout "pass:$NOT_ASCII" -v1 PBE-SHA1-3DES -out keys/leaf.password-not-ascii.pem
for cipher in aes128 aes192 aes256 des3; do openssl ec -in "$KEY" -$cipher -passout pass:secret -out keys/leaf.header-$cipher.pem 2> /dev/null; done
openssl ec -in "$KEY" -des -passout pass:secret $LEGACY -out keys/leaf.header-des.pem 2> /dev/null
openssl rsa -in "$WORK/rsa.key" -traditional -aes128 -passout pass:secret -out keys/rsa.header-aes128.pem 2> /dev/null

# Refused, each by its name.
pkcs8 refused.pbes1-rc4 -v1 PBE-SHA1-RC4-128 $LEGACY
pkcs8 refused.pbes1-md5-rc2 -v1 PBE-MD5-RC2-64 $LEGACY
pkcs8 refused.pbes2-camellia -v2 camellia128
openssl ec -in "$KEY" -camellia128 -passout pass:secret -out keys/refused.header-camellia.pem 2> /dev/null
ec_key secp256k1 keys/refused.secp256k1.pem
openssl genpkey -algorithm ED448 -out keys/refused.ed448.pem
openssl genpkey -algorithm X25519 -out keys/refused.x25519.pem
openssl genpkey -genparam -algorithm DSA -pkeyopt dsa_paramgen_bits:1024 -out "$WORK/dsa.parameters" 2> /dev/null
openssl genpkey -paramfile "$WORK/dsa.parameters" -out keys/refused.dsa.pem
openssl pkey -in keys/refused.dsa.pem -traditional -out keys/refused.dsa-traditional.pem
openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -pkeyopt ec_param_enc:explicit -out keys/refused.explicit.pem

# --- keystores -------------------------------------------------------------------------------------------------------------

cat certificates/root.pem certificates/intermediate.pem > "$WORK/issuers.pem"
store() {
    out=$1; password=$2; shift 2
    openssl pkcs12 -export -inkey "$KEY" -in certificates/leaf.pem -certfile "$WORK/issuers.pem" -passout "pass:$password" -out "stores/$out.p12" "$@"
}
store openssl secret -name leaf
store openssl_legacy secret -legacy
store openssl_legacy_3des secret -legacy -certpbe PBE-SHA1-3DES
store openssl_rc2_128 secret -legacy -certpbe PBE-SHA1-RC2-128 -keypbe PBE-SHA1-RC2-128
store openssl_mac_sha1 secret -macalg sha1
store openssl_mac_sha512 secret -macalg sha512
store openssl_no_mac secret -nomac
store openssl_plain_certificates secret -certpbe NONE
store openssl_plain_key secret -keypbe NONE
store openssl_all_plain secret -keypbe NONE -certpbe NONE
store openssl_1_iteration secret -noiter
store openssl_legacy_1_iteration secret -noiter -legacy
store open secret -keypbe NONE -certpbe NONE -nomac
store openssl_password_empty ''
store openssl_password_empty_legacy '' -legacy
store openssl_password_not_ascii "$NOT_ASCII"
openssl pkcs12 -export -nokeys -in "$WORK/issuers.pem" -passout pass:secret -out stores/openssl_no_key.p12
openssl pkcs12 -export -nocerts -inkey "$KEY" -passout pass:secret -out stores/openssl_no_certificate.p12
openssl pkcs12 -export -inkey "$WORK/rsa.key" -in certificates/rsa.pem -passout pass:secret -out stores/openssl_rsa.p12
openssl pkcs12 -export -legacy -keypbe PBE-SHA1-RC4-128 -inkey "$KEY" -in certificates/leaf.pem -passout pass:secret -out stores/refused_rc4.p12
python3 make_pbmac1.py stores/openssl_no_mac.p12 secret stores/pbmac1.p12

# import FILE TYPE [OPTION]
import() {
    out=stores/$1; type=$2; shift 2
    keytool "$@" -importkeystore -srckeystore stores/openssl.p12 -srcstoretype PKCS12 -srcstorepass secret -destkeystore "$out" \
        -deststoretype "$type" -deststorepass secret -alias leaf -destkeypass secret 2> /dev/null
    keytool "$@" -importcert -noprompt -alias other -file certificates/other.pem -keystore "$out" -storetype "$type" -storepass secret 2> /dev/null
}
import keytool.p12 PKCS12
import keytool_legacy.p12 PKCS12 -J-Dkeystore.pkcs12.legacy
import refused.jks JKS
import refused.jceks JCEKS
