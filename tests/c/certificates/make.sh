#!/bin/sh
# Makes the certificates of the C and C++ tests, with openssl. They are valid for a hundred years.
set -eu
cd "$(dirname "$0")"

# ca NAME "SUBJECT": a certificate authority.
ca() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 36500 -subj "/CN=$2" \
        -addext basicConstraints=critical,CA:true -addext keyUsage=critical,keyCertSign,cRLSign \
        -keyout "$1.key" -out "$1.pem" 2>/dev/null
}

# leaf NAME CA "SUBJECT" "EXTENSIONS": a certificate and its key.
leaf() {
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$3" -keyout "$1.key" -out "$1.csr" 2>/dev/null
    printf "$4" > "$1.ext"
    openssl x509 -req -in "$1.csr" -CA "$2.pem" -CAkey "$2.key" -days 36500 -extfile "$1.ext" -out "$1.pem" 2>/dev/null
    rm -f "$1.csr" "$1.ext"
}

ca ca "Test CA"
ca client_ca "Test client CA"
leaf broker ca broker 'subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth\n'
leaf elsewhere ca elsewhere 'subjectAltName=DNS:elsewhere\nextendedKeyUsage=serverAuth\n'
leaf client client_ca alice 'extendedKeyUsage=clientAuth\n'
openssl x509 -in client.pem -outform DER -out client.der
openssl pkcs8 -topk8 -nocrypt -in client.key -outform DER -out client_key.der
openssl pkcs8 -topk8 -v2 aes-256-cbc -passout pass:secret -in client.key -out client_encrypted.key
openssl pkcs12 -export -inkey client.key -in client.pem -certfile ca.pem -passout pass:secret -out client.p12
rm -f ca.key client_ca.key *.srl
