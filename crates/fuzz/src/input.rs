//! Values taken from the bytes of an input, one after the other; zeros once it is used up.

/// The rest of an input.
#[derive(Debug, Clone)]
pub(crate) struct Input<'a> {
    rest: &'a [u8],
}

impl<'a> Input<'a> {
    pub(crate) fn new(data: &'a [u8]) -> Self {
        Input { rest: data }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        match self.rest.split_first() {
            Some((first, rest)) => {
                self.rest = rest;
                *first
            }
            None => 0,
        }
    }

    pub(crate) fn short(&mut self) -> u16 {
        u16::from_be_bytes([self.byte(), self.byte()])
    }

    pub(crate) fn int(&mut self) -> i32 {
        i32::from_be_bytes([self.byte(), self.byte(), self.byte(), self.byte()])
    }

    pub(crate) fn long(&mut self) -> i64 {
        i64::from(self.int()) << 32 | i64::from(self.int().cast_unsigned())
    }

    /// Returns a small number where most are wanted, any number where few are: a byte, or eight after the byte 255.
    pub(crate) fn number(&mut self) -> i64 {
        match self.byte() {
            255 => self.long(),
            small => i64::from(small),
        }
    }

    /// Returns a number below `bound`, which is at most 256; 0 when there is none.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::from(self.byte()).checked_rem(bound).unwrap_or(0)
    }

    pub(crate) fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    pub(crate) fn pick<T: Copy + Default>(&mut self, choices: &[T]) -> T {
        choices.get(self.below(choices.len())).copied().unwrap_or_default()
    }

    /// Up to `count` bytes.
    pub(crate) fn bytes(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(count.min(self.rest.len()));
        self.rest = rest;
        taken
    }

    /// Bytes after their number, which takes one byte.
    pub(crate) fn chunk(&mut self) -> &'a [u8] {
        let count = self.byte().into();
        self.bytes(count)
    }

    pub(crate) fn rest(self) -> &'a [u8] {
        self.rest
    }
}
