//! Decryption with block ciphers in CBC mode and PKCS#7 padding.

use aws_lc_rs::cipher::{self, DecryptionContext, PaddedBlockDecryptingKey, UnboundCipherKey};
use des::cipher::{BlockCipherDecrypt, KeyInit, array::Array};
use zeroize::Zeroizing;

const DES_BLOCK: usize = 8;

/// A block cipher with its size of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockCipher {
    Aes128,
    Aes192,
    Aes256,
    Des,
    /// Three keys.
    TripleDes,
    /// Two keys.
    DoubleKeyTripleDes,
    /// RC2 with this number of bytes in its key, which is also its effective length: 5, 8 or 16.
    Rc2(usize),
}

impl BlockCipher {
    pub(super) fn key_len(self) -> usize {
        match self {
            Self::Aes128 | Self::DoubleKeyTripleDes => 16,
            Self::Aes192 | Self::TripleDes => 24,
            Self::Aes256 => 32,
            Self::Des => 8,
            Self::Rc2(len) => len,
        }
    }

    pub(super) fn block_len(self) -> usize {
        match self {
            Self::Aes128 | Self::Aes192 | Self::Aes256 => 16,
            _ => DES_BLOCK,
        }
    }

    /// Returns the decrypted data; none if key and initialization vector do not fit the cipher, or if the padding is wrong:
    /// the key is wrong, then.
    pub(super) fn decrypt(self, key: &[u8], iv: &[u8], data: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let fits = key.len() == self.key_len() && iv.len() == self.block_len();
        if !fits || data.is_empty() || !data.len().is_multiple_of(self.block_len()) {
            return None;
        }
        let mut data = Zeroizing::new(data.to_vec());
        let len = match self {
            Self::Aes128 => aes(&cipher::AES_128, key, iv, &mut data)?,
            Self::Aes192 => aes(&cipher::AES_192, key, iv, &mut data)?,
            Self::Aes256 => aes(&cipher::AES_256, key, iv, &mut data)?,
            Self::Des => cbc(&des::Des::new_from_slice(key).ok()?, iv, &mut data)?,
            Self::TripleDes => cbc(&des::TdesEde3::new_from_slice(key).ok()?, iv, &mut data)?,
            Self::DoubleKeyTripleDes => cbc(&des::TdesEde2::new_from_slice(key).ok()?, iv, &mut data)?,
            Self::Rc2(len) => cbc(&rc2::Rc2::new_with_eff_key_len(key, 8 * len), iv, &mut data)?,
        };
        data.truncate(len);
        Some(data)
    }
}

/// Decrypts in place; returns the length without padding.
fn aes(algorithm: &'static cipher::Algorithm, key: &[u8], iv: &[u8], data: &mut [u8]) -> Option<usize> {
    let key = UnboundCipherKey::new(algorithm, key).ok()?;
    let iv: [u8; 16] = iv.try_into().ok()?;
    let key = PaddedBlockDecryptingKey::cbc_pkcs7(key).ok()?;
    let plain = key.decrypt(data, DecryptionContext::Iv128(iv.into())).ok()?;
    Some(plain.len())
}

/// Decrypts in place blocks of eight bytes; returns the length without padding.
fn cbc<C>(cipher: &C, iv: &[u8], data: &mut [u8]) -> Option<usize>
where
    C: BlockCipherDecrypt<BlockSize = des::cipher::consts::U8>,
{
    let mut previous: [u8; DES_BLOCK] = iv.try_into().ok()?;
    for chunk in data.chunks_exact_mut(DES_BLOCK) {
        let encrypted: [u8; DES_BLOCK] = (&*chunk).try_into().ok()?;
        let mut block = Array::from(encrypted);
        cipher.decrypt_block(&mut block);
        for (plain, (byte, mask)) in chunk.iter_mut().zip(block.iter().zip(previous)) {
            *plain = byte ^ mask;
        }
        previous = encrypted;
    }
    let padding = usize::from(*data.last()?);
    let len = data.len().checked_sub(padding)?;
    let whole = (1..=DES_BLOCK).contains(&padding) && data.iter().skip(len).all(|byte| usize::from(*byte) == padding);
    whole.then_some(len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rc2_decrypts_the_vector_of_rfc_2268() {
        // Section 5: 64-bit key, 64 effective bits. XOR of CBC with this vector leaves valid padding: one byte of 1.
        let key = [0xff; 8];
        let encrypted = [0x27, 0x8b, 0x27, 0xe4, 0x2e, 0x2f, 0x0d, 0x49];
        let plain = [0xff; 8];
        let iv: Vec<u8> = plain.iter().zip([0, 0, 0, 0, 0, 0, 0, 1]).map(|(a, b)| a ^ b).collect();
        let decrypted = BlockCipher::Rc2(8).decrypt(&key, &iv, &encrypted).unwrap();
        assert_eq!(decrypted[..], [0; 7]);
    }

    #[test]
    fn lengths_that_do_not_fit_are_refused() {
        for cipher in [BlockCipher::Aes128, BlockCipher::Des, BlockCipher::Rc2(5)] {
            let (key, iv) = (vec![0; cipher.key_len()], vec![0; cipher.block_len()]);
            assert!(cipher.decrypt(&key, &iv, &[]).is_none());
            assert!(cipher.decrypt(&key, &iv, &[0; 17]).is_none());
            assert!(cipher.decrypt(&key[1..], &iv, &[0; 16]).is_none());
            assert!(cipher.decrypt(&key, &iv[1..], &[0; 16]).is_none());
        }
    }
}
